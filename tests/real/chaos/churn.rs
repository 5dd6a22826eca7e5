//! Handlers and informers that come and go while everything else goes wrong.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use kinformer::{
    Client, DynamicObject, Object, Registration, SharedInformer, SharedInformerFactory, StopToken,
};

use super::{
    dice::Dice,
    journal::Journal,
    stillness::Stillness,
    subjects::{MARKER, SILENCE, Subject, Subjects, resources, soon},
    watchdog::Watchdog,
    writers::NAMESPACES,
};

/// How long anything here may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Churn<'a> {
    pub(crate) subjects: &'a Subjects,
    /// One that talks through the proxy.
    pub(crate) client: &'a Client,
    pub(crate) stop: &'a StopToken,
    pub(crate) stillness: &'a Stillness,
    pub(crate) watchdog: &'a Watchdog,
    pub(crate) came: &'a Came,
    pub(crate) dice: Dice,
}

/// How many came and went, and how far they came.
#[derive(Default)]
pub(crate) struct Came {
    pub(crate) handlers: Counts,
    pub(crate) informers: Counts,
    pub(crate) leases: Counts,
    pub(crate) factories: Counts,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) all: AtomicU64,
    /// Of these, those that were told of everything that was there.
    pub(crate) synced: AtomicU64,
    /// What they were told.
    pub(crate) told: AtomicU64,
}

impl Churn<'_> {
    /// Lets something come, stay for a moment and go. What it is told is checked.
    pub(crate) fn once(&mut self) {
        let subject = &self.subjects.all[self.dice.roll(self.subjects.all.len() as u64) as usize];
        let (what, act): (_, fn(&mut Self, &Subject)) = match self.dice.roll(8) {
            0..=2 => ("a late handler", Self::late_handler),
            3 | 4 => ("another informer", Self::informer),
            5 => ("a lease", Self::lease),
            6 => ("a factory", Self::factory),
            _ => ("a change of the namespaces", |churn, _| churn.namespace()),
        };
        let _coming = self.stillness.broken();
        let _watched = self.watchdog.watch(format!("{what}: {}", subject.name), LIMIT);
        act(self, subject);
    }

    fn late_handler(&mut self, subject: &Subject) {
        let before = subject.steady();
        let journal = journal("late", subject, &subject.informer);
        let registration = listen(&subject.informer, &journal);
        self.pause();
        self.came.handlers.count(&registration, &subject.informer, &before, &journal);
        registration.remove();
        self.is_over(&journal);
    }

    fn informer(&mut self, subject: &Subject) {
        let before = subject.steady();
        let streamed = self.dice.roll(2) == 0;
        let informer = subject.which.informer(self.client, streamed);
        let journal = journal("another", subject, &informer);
        let registration = listen(&informer, &journal);
        informer.start().unwrap();
        self.pause();
        self.came.informers.count(&registration, &informer, &before, &journal);
        if self.dice.roll(2) == 0 {
            registration.remove();
        }
        informer.stop();
        self.is_over(&journal);
    }

    /// Shared with whoever else has one.
    fn lease(&mut self, subject: &Subject) {
        let (factory, which) = (&self.subjects.factory, &subject.which);
        let lease = factory.lease_of::<DynamicObject>(&which.resource, &which.selection()).unwrap();
        // It may be older, and behind: what others have says nothing about it.
        let mut before = subject.steady();
        before.retain(|object| object.name() == MARKER);
        let journal = journal("on lease", subject, &lease);
        let registration = listen(&lease, &journal);
        self.pause();
        self.came.leases.count(&registration, &lease, &before, &journal);
        registration.remove();
        drop(lease);
        self.is_over(&journal);
    }

    fn factory(&mut self, subject: &Subject) {
        let before = subject.steady();
        let factory = SharedInformerFactory::builder(self.client.clone());
        let factory = factory.backoff(soon()).watch_silence(SILENCE).build();
        let selection = subject.which.selection();
        let followed = resources().map(|resource| {
            let informer = factory.informer_of(&resource, &selection);
            let journal = journal("of a factory", subject, &informer);
            (listen(&informer, &journal), informer, journal)
        });
        factory.start().unwrap();
        self.pause();
        for (registration, informer, journal) in &followed {
            let is_of = *informer.resource() == subject.which.resource;
            let before = if is_of { &*before } else { &[] };
            self.came.factories.count(registration, informer, before, journal);
        }
        let one = factory.informer_of::<DynamicObject>(&subject.which.resource, &selection);
        assert!(factory.stop_informer(&one) && one.store().is_empty());
        let of_one = followed.iter().find(|(_, informer, _)| informer.is_same(&one)).unwrap();
        self.is_over(&of_one.2);
        factory.shutdown().unwrap();
        for (_, _, journal) in &followed {
            self.is_over(journal);
        }
    }

    /// The first is never left.
    fn namespace(&mut self) {
        let name = NAMESPACES[1 + self.dice.roll(2) as usize];
        self.subjects.namespaces.remove(name);
        self.pause_briefly();
        self.subjects.namespaces.insert(name).unwrap();
    }

    /// Nothing that was told was wrong, and nothing more is told.
    fn is_over(&mut self, journal: &Journal) {
        let calls = journal.calls();
        self.pause_briefly();
        assert_eq!(journal.calls(), calls, "one that was removed or stopped is told more");
        let wrong = journal.wrong();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    fn pause(&mut self) {
        let _ = self.stop.wait_timeout(Duration::from_millis(self.dice.roll(1_500)));
    }

    fn pause_briefly(&mut self) {
        let _ = self.stop.wait_timeout(Duration::from_millis(self.dice.roll(100)));
    }
}

impl Counts {
    /// A handler that says that it was told of everything was: of what was there `before` it came, and is there
    /// still.
    fn count(
        &self,
        registration: &Registration,
        informer: &SharedInformer<DynamicObject>,
        before: &[Object],
        journal: &Journal,
    ) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if registration.has_synced() {
            let lister = informer.lister();
            let is_there = |object: &&Object| {
                let now = lister.get(object.key().as_ref());
                now.is_ok_and(|now| now.uid() == object.uid())
            };
            let there = before.iter().filter(is_there);
            let unknown: Vec<_> =
                there.map(Object::key).filter(|key| !journal.knows(key)).collect();
            let name = informer.name();
            assert!(unknown.is_empty(), "{name}: synced, and not told of {unknown:?}");
            let marker = format!("{}/{MARKER}", NAMESPACES[0]);
            let marker = lister.get(&marker).unwrap();
            assert!(journal.knows(marker.key()), "{name}: synced, and not told of a marker");
            self.synced.fetch_add(1, Ordering::Relaxed);
        }
        self.told.fetch_add(journal.told(), Ordering::Relaxed);
    }
}

fn journal(how: &str, subject: &Subject, informer: &SharedInformer<DynamicObject>) -> Journal {
    let returns = subject.which.objects_return();
    Journal::new(format!("{how}, {}", subject.name), informer, returns)
}

fn listen(informer: &SharedInformer<DynamicObject>, journal: &Journal) -> Registration {
    let taking = journal.clone();
    informer.on_event(move |event| taking.take(&event)).unwrap()
}
