/** What users import: a client, what controllers are made of, and a cluster to try them on. */

export * from '#api/admissionregistration/v1/kinds.gen.ts'
export type * as admissionregistrationV1 from '#api/admissionregistration/v1/types.gen.ts'
export * from '#api/apiextensions/v1/kinds.gen.ts'
export * from '#api/apiregistration/v1/kinds.gen.ts'
export * from '#api/apps/v1/kinds.gen.ts'
export type * as appsV1 from '#api/apps/v1/types.gen.ts'
export * from '#api/authentication/v1/kinds.gen.ts'
export * from '#api/authorization/v1/kinds.gen.ts'
export * from '#api/autoscaling/v2/kinds.gen.ts'
export type * as autoscalingV2 from '#api/autoscaling/v2/types.gen.ts'
export * from '#api/batch/v1/kinds.gen.ts'
export type * as batchV1 from '#api/batch/v1/types.gen.ts'
export * from '#api/certificates/v1/kinds.gen.ts'
export * from '#api/coordination/v1/kinds.gen.ts'
export type * as coordinationV1 from '#api/coordination/v1/types.gen.ts'
export * from '#api/core/v1/kinds.gen.ts'
export type * as coreV1 from '#api/core/v1/types.gen.ts'
export {
  type CustomObject,
  type CustomObjectOf,
  type CustomResource,
  type CustomResourceDeclaration,
  defineCustomResource,
  defineOlderVersion,
  type OlderVersion,
} from '#api/declaration/define-custom-resource.ts'
export {
  anyObject,
  boolean,
  choice,
  conditions,
  type InputOf,
  integer,
  intOrString,
  list,
  map,
  nullable,
  number,
  object,
  optional,
  type Schema,
  schema,
  string,
  time,
  type ValueOf,
} from '#api/declaration/schema.ts'
export * from '#api/discovery/v1/kinds.gen.ts'
export type * as discoveryV1 from '#api/discovery/v1/types.gen.ts'
export { Event as EventsEvent } from '#api/events/v1/kinds.gen.ts'
export type * as eventsV1 from '#api/events/v1/types.gen.ts'
export * from '#api/flowcontrol/v1/kinds.gen.ts'
export { defineKind, type Kind, type KindAddress } from '#api/kind.ts'
export type { Check } from '#api/meta/check.ts'
export { isConditionTrue } from '#api/meta/find-condition.ts'
export { controllerOf, controllerReference } from '#api/meta/owner-references.ts'
export { isAlreadyExists, isConflict, isExpired, isForbidden, isInvalid, isNotFound } from '#api/meta/server-response.ts'
export { badRequest, conflict, forbidden, notFound, StatusError } from '#api/meta/status-error.ts'
export { formatMicroTime, formatTime, parseTime } from '#api/meta/time.ts'
export type * as metaV1 from '#api/meta/v1/types.gen.ts'
export * from '#api/networking/v1/kinds.gen.ts'
export type * as networkingV1 from '#api/networking/v1/types.gen.ts'
export * from '#api/node/v1/kinds.gen.ts'
export * from '#api/policy/v1/kinds.gen.ts'
export type * as policyV1 from '#api/policy/v1/types.gen.ts'
export * from '#api/rbac/v1/kinds.gen.ts'
export type * as rbacV1 from '#api/rbac/v1/types.gen.ts'
export * from '#api/resource/v1/kinds.gen.ts'
export type { KubernetesList, KubernetesObject } from '#api/resource.ts'
export * from '#api/scheduling/v1/kinds.gen.ts'
export * from '#api/storage/v1/kinds.gen.ts'
export type * as storageV1 from '#api/storage/v1/types.gen.ts'
export { type Clock, systemClock, type Timer } from '#base/clock.ts'
export { type Logger, silentLogger } from '#base/log.ts'
export { Metrics } from '#base/metrics.ts'
export { pinoLogger } from '#base/pino-logger.ts'
export { type Random, seededRandom, systemRandom } from '#base/random.ts'
export { VirtualClock } from '#base/virtual-clock.ts'
export {
  type Applied,
  Client,
  type ClientOptions,
  type DeleteOptions,
  type ListOptions,
  type Place,
  type WatchOptions,
  type WriteOptions,
} from '#client/client.ts'
export { type DiscoveredResource, type Discovery, discover, preferredResources } from '#client/discovery.ts'
export { EventRecorder, type EventRecorderOptions } from '#client/events/event-recorder.ts'
export { EventSeriesRecorder, type EventSeriesRecorderOptions } from '#client/events/event-series-recorder.ts'
export { Informer, type InformerHandler, type InformerOptions } from '#client/informer/informer.ts'
export { Informers, type InformersOptions } from '#client/informer/informers.ts'
export { keyOf, splitKey } from '#client/informer/object-store.ts'
export { type ConnectSeams, connect, inClusterContext } from '#client/kubeconfig/connect.ts'
export { Kubeconfig, type KubeconfigContext } from '#client/kubeconfig/kubeconfig.ts'
export { type OpenClientOptions, type OpenedClient, openClient } from '#client/kubeconfig/open-client.ts'
export { LeaderElector, type LeaderElectorOptions } from '#client/leader-election/leader-elector.ts'
export { retryOnConflict, type WaitOptions, waitFor } from '#client/retry.ts'
export { ServedKinds } from '#client/served-kinds.ts'
export type { Transport, TransportRequest, TransportResponse } from '#client/transport.ts'
export type { WatchEvent } from '#client/watch-events.ts'
export { controllerRateLimiter, exponentialRateLimiter, type RateLimiter, TokenBucket } from '#client/work-queue/rate-limiter.ts'
export { WorkQueue, type WorkQueueOptions } from '#client/work-queue/work-queue.ts'
export { type StartClusterOptions, type StartedCluster, startCluster } from '#cmd/all-in-one/start-cluster.ts'
export {
  defineServedKind,
  type ServedKind,
  type ServedKindDeclaration,
  type ServedKindVersion,
} from '#cmd/extension-server/define-served-kind.ts'
export { type RegistrationOptions, registerExtensionServer } from '#cmd/extension-server/register-extension-server.ts'
export {
  type AdmissionPlugin,
  type AdmissionRequest,
  type ClusterView,
  type ExtensionServer,
  type ExtensionServerOptions,
  startExtensionServer,
} from '#cmd/extension-server/start-extension-server.ts'
export {
  type AdmissionWebhook,
  defineMutatingWebhook,
  defineValidatingWebhook,
  type MutatingWebhookDeclaration,
  type Review,
  type ValidatingWebhookDeclaration,
} from '#cmd/operator/define-webhook.ts'
export { type OperatorOptions, runOperator } from '#cmd/operator/run-operator.ts'
export { type ServedWebhooks, type ServeWebhooksOptions, serveWebhooks } from '#cmd/operator/serve-webhooks.ts'
export { type FinalizerOptions, withFinalizer } from '#controllers/kit/finalizer.ts'
export { type InstallOptions, installDefinitions } from '#controllers/kit/install-definitions.ts'
export { NotControlledError, type OwnedObjects, type OwnedObjectsOptions, ownedObjects } from '#controllers/kit/owned-objects.ts'
export { setCondition } from '#controllers/kit/set-condition.ts'
export { writeStatus } from '#controllers/kit/write-status.ts'
export { Cache } from '#controllers/runtime/cache.ts'
export { ControllerManager, type ControllerManagerOptions } from '#controllers/runtime/controller-manager.ts'
export { type ControllerDefinition, defineController, type ReconcileContext, terminal } from '#controllers/runtime/define-controller.ts'
export { defineLoop, type LoopContext, type LoopDefinition } from '#controllers/runtime/define-loop.ts'
export type { Controller } from '#controllers/runtime/environment.ts'
export { type RunControllersOptions, runControllers } from '#controllers/runtime/run-controllers.ts'
export { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'
export { type Change, on, onOwned, type Trigger } from '#controllers/runtime/triggers.ts'
export { serviceCatalogResources } from '#controllers/service-catalog/definitions.ts'
export { serviceCatalogControllers } from '#controllers/service-catalog/service-catalog.ts'
