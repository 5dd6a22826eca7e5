//! The verbs of the API for one resource.

use std::{io, marker::PhantomData, sync::Arc};

use serde::Serialize;

use super::{
    Client,
    connection::CallKind,
    failure,
    list::{self, List, ListMeta},
    options::{DeleteOptions, FieldValidation, ListOptions, LogOptions, Patch, WriteOptions},
    request::{JSON, Request, Target},
    scale::Scale,
    transport::{Body as ResponseBody, Method},
    watch::Watch,
};
use crate::{
    error::{Error, Result, Status},
    object::{ApiResource, Body, Object, Origin, Shape},
    stop::StopToken,
};

/// How many objects a page of [`Api::list_all`] has, unless the options say otherwise.
const PAGE: u32 = 500;

/// Reads and writes the objects of one resource, in one namespace or in all.
///
/// Made by [`Client::api`] and its kin; cheap to clone. What modifies how calls are made
/// ([`namespace`](Self::namespace), [`dry_run`](Self::dry_run), [`status`](Self::status), ...) gives a
/// new `Api`.
///
/// # Blocking
///
/// Every call blocks until the answer is there, for at most [`Timeouts`](crate::config::Timeouts),
/// and returns [`Error::Stopped`] as soon as the client's [stop token](Client::with_stop) is stopped.
///
/// # Errors
///
/// [`Error::Api`] if the server refuses; [`Error::Transport`] if it cannot be reached;
/// [`Error::Invalid`] if an argument cannot be part of a request. A 429 with `Retry-After` is retried
/// for every verb, a 5xx with `Retry-After` for get, list, replace and delete: up to ten times
/// ([`max_retries`](crate::config::ConfigBuilder::max_retries)), within the time a call may take.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kinformer::{Client, ListOptions};
///
/// let client = Client::try_default()?;
/// let maps = client.api::<ConfigMap>().namespace("default");
/// for map in maps.list(&ListOptions::new())? {
///     println!("{} {}", map.name(), map.get()?.data.as_ref().map_or(0, |data| data.len()));
/// }
/// # Ok::<(), kinformer::Error>(())
/// ```
#[doc(alias = "ResourceInterface")]
pub struct Api<K> {
    client: Client,
    /// What the URLs are about; the objects of a subresource may be of another kind.
    resource: Arc<ApiResource>,
    origin: Arc<Origin>,
    namespace: Option<String>,
    subresource: Option<String>,
    write: WriteOptions,
    metadata_only: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        self.cast()
    }
}

impl<K> std::fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api")
            .field("resource", &format_args!("{}", self.resource))
            .field("namespace", &self.namespace)
            .field("subresource", &self.subresource)
            .finish_non_exhaustive()
    }
}

/// What becomes of an object that was deleted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Deletion<K> {
    /// It is gone, says the server.
    Done(Box<Status>),
    /// It will go when its finalizers are done or its grace period is over; its state now. A server
    /// may also answer with the last state of an object that is gone.
    Pending(Object<K>),
}

impl<K: Body> Api<K> {
    pub(super) fn new(client: Client, resource: ApiResource) -> Self {
        let cluster = client.cluster_name();
        Self {
            client,
            resource: Arc::new(resource.clone()),
            origin: Arc::new(Origin::new(resource, cluster)),
            namespace: None,
            subresource: None,
            write: WriteOptions::default(),
            metadata_only: false,
            kind: PhantomData,
        }
    }

    pub(super) fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// The same in one namespace. Without it, lists and watches are about all namespaces; to read or to
    /// write one object of a namespaced resource, say which namespace it is in.
    ///
    /// A name that no namespace can have, the empty one included, is an [`Error::Invalid`] of every call;
    /// nothing is sent.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }

    /// The same, but the server only goes through the motions of writing.
    #[must_use]
    pub fn dry_run(&self) -> Self {
        self.with_write(|write| write.dry_run = true)
    }

    /// The same, writing as `manager`, who then owns the fields. [`apply`](Self::apply) needs one.
    #[must_use]
    pub fn field_manager(&self, manager: &str) -> Self {
        self.with_write(|write| write.field_manager = Some(manager.to_owned()))
    }

    /// The same, saying what to do about fields that the server does not know.
    #[must_use]
    pub fn field_validation(&self, validation: FieldValidation) -> Self {
        self.with_write(|write| write.field_validation = Some(validation))
    }

    /// The same, taking over fields that another manager owns when it applies.
    #[must_use]
    pub fn force(&self) -> Self {
        self.with_write(|write| write.force = true)
    }

    fn with_write(&self, change: impl FnOnce(&mut WriteOptions)) -> Self {
        let mut api = self.clone();
        change(&mut api.write);
        api
    }

    /// The same, interrupted when `stop` is stopped.
    #[must_use]
    pub fn with_stop(&self, stop: &StopToken) -> Self {
        Self { client: self.client.with_stop(stop), ..self.clone() }
    }

    /// The same, giving objects another shape.
    pub(crate) fn shaped(&self, shape: &Shape) -> Self {
        let origin = Arc::new(self.origin.shaped(shape.clone()));
        Self { origin, ..self.clone() }
    }

    /// The status of the objects: get, replace, patch and apply are about it alone.
    #[doc(alias = "UpdateStatus")]
    #[must_use]
    pub fn status(&self) -> Self {
        self.subresource("status")
    }

    /// The scale of the objects.
    ///
    /// ```no_run
    /// # let client = kinformer::Client::try_default()?;
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kinformer::Patch;
    ///
    /// let scale = client.api::<Deployment>().namespace("default").scale();
    /// let three = serde_json::json!({"spec": {"replicas": 3}});
    /// assert_eq!(scale.patch("web", &Patch::Merge(three))?.get()?.spec.replicas, 3);
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn scale(&self) -> Api<Scale> {
        let kind = ApiResource::new(
            "autoscaling/v1",
            "Scale",
            self.resource.plural(),
            self.resource.is_namespaced(),
        );
        let origin = Arc::new(Origin::new(kind, self.client.cluster_name()));
        Api { origin, ..self.subresource("scale").cast() }
    }

    /// Any subresource, by its name.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Self {
        Self { subresource: Some(name.to_owned()), ..self.clone() }
    }

    /// Reads one object.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_not_found`](Error::is_not_found) if there is none.
    pub fn get(&self, name: &str) -> Result<Object<K>> {
        self.object(&self.request(Method::Get, Some(name))?)
    }

    /// Reads one object, or finds that there is none.
    ///
    /// # Errors
    ///
    /// See [`Api`].
    pub fn find(&self, name: &str) -> Result<Option<Object<K>>> {
        match self.get(name) {
            Err(error) if error.is_not_found() => Ok(None),
            result => result.map(Some),
        }
    }

    /// Lists objects with one request: all of them, or one page if the options have a limit.
    ///
    /// # Errors
    ///
    /// See [`Api`]. One object that cannot be used makes the whole list an error; with
    /// [`list_each`](Self::list_each) the others can be had.
    pub fn list(&self, options: &ListOptions) -> Result<List<K>> {
        let (mut items, mut failure) = (Vec::new(), None);
        let metadata = self.list_each(options, |item| match item {
            Ok(object) => items.push(object),
            Err(error) => failure = failure.take().or(Some(error)),
        })?;
        failure.map_or(Ok(List { items, metadata }), Err)
    }

    /// Lists objects with one request, giving each to `item` as it arrives: the list is never held
    /// whole.
    ///
    /// # Errors
    ///
    /// See [`Api`]. Objects given before a failure have been given: an error means that the list is
    /// not complete.
    pub fn list_each(
        &self,
        options: &ListOptions,
        mut item: impl FnMut(Result<Object<K>>),
    ) -> Result<ListMeta> {
        if options.selects_nothing() {
            return Ok(ListMeta::default());
        }
        let mut request = self.request(Method::Get, None)?;
        options.write_list(&mut request);
        if self.metadata_only {
            request.accept = metadata_accept("PartialObjectMetadataList");
        }
        let answered = self.client.connection.open(&request, CallKind::List, &self.client.stop)?;
        list::read(answered.body, &self.origin, &self.client.stop, &mut |object| {
            item(object.map_err(Error::from));
        })
    }

    /// Whether lists and watches can be asked for.
    ///
    /// # Errors
    ///
    /// What they would say before anything is sent.
    pub(crate) fn check(&self) -> Result<()> {
        self.request(Method::Get, None).map(drop)
    }

    /// What its calls are made with.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Lists objects page by page, as they are asked for.
    ///
    /// Pages have 500 objects unless the options say otherwise, and belong to the same state. After an
    /// error the iterator ends; [`is_expired`](Error::is_expired) means that the next page came too
    /// late.
    pub fn list_all(&self, options: &ListOptions) -> ListAll<K> {
        let mut options = options.clone();
        options.limit.get_or_insert(PAGE);
        ListAll { api: self.clone(), options, page: Vec::new().into_iter(), over: false }
    }

    /// Watches objects.
    ///
    /// # Errors
    ///
    /// See [`Api`]. A resource version that is too old is either an error here or an
    /// [error event](crate::WatchEvent::Error).
    pub fn watch(&self, options: &ListOptions) -> Result<Watch<K>> {
        self.open_watch(options, self.client.connection.config.max_retries)
    }

    /// The same for those who know what to do if the server has no time now: it is asked once.
    pub(crate) fn watch_once(&self, options: &ListOptions) -> Result<Watch<K>> {
        self.open_watch(options, 0)
    }

    fn open_watch(&self, options: &ListOptions, retries: u32) -> Result<Watch<K>> {
        if options.silence.is_some_and(|silence| silence.is_zero()) {
            return Err(Error::invalid("silence", "must be more than nothing"));
        }
        if options.selects_nothing() {
            return Ok(Watch::of_nothing(self.client.stop.clone()));
        }
        let mut request = self.request(Method::Get, None)?;
        options.write_watch(&mut request);
        let bookmarks = options.bookmarks.unwrap_or(true);
        let usual = bookmarks.then_some(self.client.connection.config.timeouts.watch_idle);
        let kind = CallKind::Watch { silence: options.silence.or(usual), retries };
        let answered = self.client.connection.open(&request, kind, &self.client.stop)?;
        let media = answered.content_type.split(';').next().unwrap_or_default().trim();
        if !media.is_empty() && !media.eq_ignore_ascii_case(JSON) {
            let text = format!("the server answers with {media:?}, which is not known here");
            let what = format!("a watch of {}", self.origin.resource);
            return Err(Error::decode(what, serde::de::Error::custom(text)));
        }
        Ok(Watch::new(answered.body, self.origin.clone(), self.client.stop.clone()))
    }

    /// Makes an object.
    ///
    /// `apiVersion` and `kind` are added where the body has none. `metadata.generateName` instead of a
    /// name lets the server choose. A [subresource](Self::subresource) is made under the object that
    /// the body's `metadata.name` names; if the server only says that it was done, as it does of a
    /// binding, the result is what was sent. What is answered and kept nowhere, as a review is, has no
    /// name: that of the result is empty.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_already_exists`](Error::is_already_exists).
    pub fn create<B: Serialize + ?Sized>(&self, object: &B) -> Result<Object<K>> {
        match &self.subresource {
            None => self.send(Method::Post, None, object),
            Some(subresource) => {
                let body = serde_json::to_value(object).unwrap_or_default();
                let Some(name) = body["metadata"]["name"].as_str() else {
                    let text = format!("the metadata has none, so whose {subresource:?} is it?");
                    return Err(Error::invalid("name", text));
                };
                self.send(Method::Post, Some(name), object)
            }
        }
    }

    /// Replaces an object by another.
    ///
    /// With a resource version in its metadata, the body only replaces that very state.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_conflict`](Error::is_conflict) if the object was changed meanwhile.
    #[doc(alias = "Update")]
    pub fn replace<B: Serialize + ?Sized>(&self, name: &str, object: &B) -> Result<Object<K>> {
        self.send(Method::Put, Some(name), object)
    }

    fn send<B: Serialize + ?Sized>(
        &self,
        method: Method,
        name: Option<&str>,
        object: &B,
    ) -> Result<Object<K>> {
        let mut request = self.request(method, name)?;
        self.write.write(&mut request);
        match self.subresource.as_deref() {
            None | Some("status" | "scale") => request.object(&self.origin.resource, object)?,
            // What other subresources take is not known here.
            Some(_) => request.json(object)?,
        }
        let answer = self.client.connection.request(&request, &self.client.stop)?;
        let object = match &request.body {
            // As to a binding: it was done as asked.
            Some(sent) if failure::success_status(&answer).is_some() => sent,
            _ => &answer,
        };
        Ok(Object::ingest_answer(&self.origin, object)?)
    }

    /// Changes an object in part.
    ///
    /// # Errors
    ///
    /// See [`Api`].
    pub fn patch<B: Serialize>(&self, name: &str, patch: &Patch<B>) -> Result<Object<K>> {
        let mut request = self.request(Method::Patch, Some(name))?;
        self.write.write(&mut request);
        request.content_type = patch.content_type();
        request.json(patch.body())?;
        self.object(&request)
    }

    /// Makes an object have these fields, creating it if there is none: server-side apply.
    ///
    /// Needs a [`field_manager`](Self::field_manager). Fields that it applied before and leaves out now
    /// are removed.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_conflict`](Error::is_conflict) if another manager owns a field, unless
    /// [`force`](Self::force)d.
    pub fn apply<B: Serialize + ?Sized>(&self, name: &str, object: &B) -> Result<Object<K>> {
        if self.write.field_manager.is_none() {
            return Err(Error::invalid("field manager", "apply needs one: see Api::field_manager"));
        }
        let mut request = self.request(Method::Patch, Some(name))?;
        self.write.write(&mut request);
        request.param("force", self.write.force.to_string());
        request.content_type = "application/apply-patch+yaml";
        request.object(&self.origin.resource, object)?;
        self.object(&request)
    }

    /// Deletes an object as the server does by default.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_not_found`](Error::is_not_found) if there is none.
    pub fn delete(&self, name: &str) -> Result<Deletion<K>> {
        self.delete_with(name, &DeleteOptions::new())
    }

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_conflict`](Error::is_conflict) if a precondition does not hold.
    pub fn delete_with(&self, name: &str, options: &DeleteOptions) -> Result<Deletion<K>> {
        let mut request = self.request(Method::Delete, Some(name))?;
        options.write(self.write.dry_run, &mut request)?;
        let body = self.client.connection.request(&request, &self.client.stop)?;
        if body.is_empty() {
            // Nothing more to say, as in a 204.
            let status = Status { status: "Success".into(), ..Status::default() };
            return Ok(Deletion::Done(Box::new(status)));
        }
        if let Some(status) = failure::success_status(&body) {
            return Ok(Deletion::Done(Box::new(status)));
        }
        Ok(Deletion::Pending(Object::ingest_text(&self.origin, &body)?))
    }

    /// Deletes all objects that the list options select.
    ///
    /// # Errors
    ///
    /// See [`Api`]. Some may be gone even if it fails.
    pub fn delete_collection(&self, delete: &DeleteOptions, select: &ListOptions) -> Result<()> {
        if select.selects_nothing() {
            return Ok(());
        }
        let mut request = self.request(Method::Delete, None)?;
        select.write_list(&mut request);
        delete.write(self.write.dry_run, &mut request)?;
        let (connection, stop) = (&self.client.connection, &self.client.stop);
        let mut answered = connection.open(&request, CallKind::List, stop)?;
        // The answer is a status, or all the objects there were: these are not held whole.
        list::discard(&mut answered.body)
    }

    /// Opens the log of a pod's container.
    ///
    /// # Errors
    ///
    /// See [`Api`]. An error while reading, [`Error::Stopped`] included, is inside the
    /// [`io::Error`].
    #[doc(alias = "GetLogs")]
    pub fn logs(&self, name: &str, options: &LogOptions) -> Result<LogStream> {
        let mut request = self.subresource("log").request(Method::Get, Some(name))?;
        options.write(&mut request);
        // As kubectl: a server that cannot give text says why in JSON.
        request.accept = "text/plain, application/json, */*".into();
        let kind = CallKind::Stream;
        let answered = self.client.connection.open(&request, kind, &self.client.stop)?;
        Ok(LogStream(answered.body))
    }

    /// Asks for a pod to go, as far as disruption budgets allow.
    ///
    /// # Errors
    ///
    /// See [`Api`]; [`is_too_many_requests`](Error::is_too_many_requests) if a budget forbids it now.
    #[doc(alias = "EvictV1")]
    pub fn evict(&self, name: &str, options: &DeleteOptions) -> Result<()> {
        let mut request = self.subresource("eviction").request(Method::Post, Some(name))?;
        self.write.write(&mut request);
        request.json(&serde_json::json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.namespace},
            "deleteOptions": options,
        }))?;
        self.client.connection.request(&request, &self.client.stop).map(drop)
    }

    fn request(&self, method: Method, name: Option<&str>) -> Result<Request> {
        let target = Target {
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            name,
            subresource: self.subresource.as_deref(),
        };
        let namespaced = self.resource.is_namespaced();
        if namespaced && self.namespace.is_none() && (name.is_some() || method == Method::Post) {
            let text = format!("{} live in namespaces: say which one", target.resource);
            return Err(Error::invalid("namespace", text));
        }
        let mut request = Request::for_resource(method, &target)?;
        if self.metadata_only {
            request.accept = metadata_accept("PartialObjectMetadata");
        }
        Ok(request)
    }

    fn object(&self, request: &Request) -> Result<Object<K>> {
        let body = self.client.connection.request(request, &self.client.stop)?;
        Ok(Object::ingest_text(&self.origin, &body)?)
    }
}

impl<K> Api<K> {
    pub(crate) fn cast<J>(&self) -> Api<J> {
        Api {
            client: self.client.clone(),
            resource: self.resource.clone(),
            origin: self.origin.clone(),
            namespace: self.namespace.clone(),
            subresource: self.subresource.clone(),
            write: self.write.clone(),
            metadata_only: self.metadata_only,
            kind: PhantomData,
        }
    }

    /// The resource that it reads and writes.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }
}

fn metadata_accept(kind: &str) -> String {
    format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json")
}

/// All objects of a list, page by page: see [`Api::list_all`].
#[derive(Debug)]
#[must_use = "nothing is asked for until the first object is"]
#[doc(alias = "ListPager")]
pub struct ListAll<K> {
    api: Api<K>,
    options: ListOptions,
    page: std::vec::IntoIter<Object<K>>,
    over: bool,
}

impl<K: Body> Iterator for ListAll<K> {
    type Item = Result<Object<K>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.page.next() {
                return Some(Ok(object));
            }
            if self.over {
                return None;
            }
            // Some servers send an empty page with a token: only the token counts.
            match self.api.list(&self.options) {
                Ok(List { items, metadata }) => {
                    self.page = items.into_iter();
                    self.over = metadata.continue_token.is_empty();
                    self.options.continue_token = Some(metadata.continue_token);
                    // A token has its state in it, and servers refuse to be told twice.
                    self.options.resource_version = None;
                    self.options.resource_version_match = None;
                }
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The log of a container, as it is written: see [`Api::logs`].
#[derive(Debug)]
#[doc(alias = "GetLogs")]
pub struct LogStream(ResponseBody);

impl io::Read for LogStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf).map_err(|error| {
            let kind = error.kind();
            io::Error::new(kind, self.0.failure(error))
        })
    }
}
