//! Handlers and informers that come and go while everything else goes wrong.

use std::time::Duration;

use kinformer::{Client, DynamicObject, SharedInformer, SharedInformerFactory, StopToken};

use super::{
    dice::Dice,
    journal::Journal,
    subjects::{SILENCE, Subject, Subjects, soon},
    writers::NAMESPACES,
};

pub(crate) struct Churn<'a> {
    pub(crate) subjects: &'a Subjects,
    /// One that talks through the proxy.
    pub(crate) client: &'a Client,
    pub(crate) stop: &'a StopToken,
    pub(crate) dice: Dice,
}

impl Churn<'_> {
    /// Lets something come, stay for a moment and go. What it is told is checked.
    pub(crate) fn once(&mut self) {
        let subject = &self.subjects.all[self.dice.roll(self.subjects.all.len() as u64) as usize];
        match self.dice.roll(8) {
            0..=2 => self.late_handler(subject),
            3 | 4 => self.informer(subject),
            5 => self.lease(subject),
            6 => self.factory(subject),
            _ => self.namespace(),
        }
    }

    fn late_handler(&mut self, subject: &Subject) {
        let journal = Journal::new(format!("late at {}", subject.name));
        let registration = listen(&subject.informer, &journal);
        self.pause();
        registration.remove();
        let told = journal.told();
        check(&journal);
        self.pause_briefly();
        assert_eq!(journal.told(), told, "{}: one that was removed is told more", subject.name);
    }

    fn informer(&mut self, subject: &Subject) {
        let journal = Journal::new(format!("another of {}", subject.name));
        let streamed = self.dice.roll(2) == 0;
        let informer = subject.which.informer(self.client, streamed);
        let registration = listen(&informer, &journal);
        informer.start().unwrap();
        self.pause();
        if self.dice.roll(2) == 0 {
            registration.remove();
        }
        informer.stop();
        check(&journal);
    }

    /// Shared with whoever else has one.
    fn lease(&mut self, subject: &Subject) {
        let journal = Journal::new(format!("on lease of {}", subject.name));
        let (factory, which) = (&self.subjects.factory, &subject.which);
        let lease = factory.lease_of::<DynamicObject>(&which.resource, &which.selection()).unwrap();
        let registration = listen(&lease, &journal);
        self.pause();
        registration.remove();
        drop(lease);
        check(&journal);
    }

    fn factory(&mut self, subject: &Subject) {
        let factory = SharedInformerFactory::builder(self.client.clone());
        let factory = factory.backoff(soon()).watch_silence(SILENCE).build();
        let selection = subject.which.selection();
        let journals: Vec<_> = super::subjects::resources()
            .iter()
            .map(|resource| {
                let journal = Journal::new(format!("of a factory's {resource}"));
                listen(&factory.informer_of(resource, &selection), &journal);
                journal
            })
            .collect();
        factory.start().unwrap();
        self.pause();
        let one = factory.informer_of::<DynamicObject>(&subject.which.resource, &selection);
        assert!(factory.stop_informer(&one) && one.store().is_empty());
        self.pause_briefly();
        factory.shutdown().unwrap();
        journals.iter().for_each(check);
    }

    /// The first is never left: the marker is there.
    fn namespace(&mut self) {
        let name = NAMESPACES[1 + self.dice.roll(2) as usize];
        self.subjects.namespaces.remove(name);
        self.pause_briefly();
        self.subjects.namespaces.insert(name).unwrap();
    }

    fn pause(&mut self) {
        let _ = self.stop.wait_timeout(Duration::from_millis(self.dice.roll(1_500)));
    }

    fn pause_briefly(&mut self) {
        let _ = self.stop.wait_timeout(Duration::from_millis(self.dice.roll(100)));
    }
}

fn listen(informer: &SharedInformer<DynamicObject>, journal: &Journal) -> kinformer::Registration {
    let taking = journal.clone();
    informer.on_event(move |event| taking.take(&event)).unwrap()
}

fn check(journal: &Journal) {
    let wrong = journal.wrong();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
