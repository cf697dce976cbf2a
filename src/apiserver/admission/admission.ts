/** What stands between a decoded request and the store: plugins that change it, then plugins that judge it. */
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export type AdmissionRequest = {
  readonly operation: AdmissionOperation
  /** Of the resource that is written; `object` and `oldObject` are in its stored version. */
  readonly definition: ResourceDefinition
  /** As named in the request's path. */
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string }
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly subresource: string
  readonly namespace: string
  /** Empty on a create with generateName. */
  readonly name: string
  /** Undefined on delete. Plugins change it in place while mutating; afterwards it is final. */
  readonly object: KubernetesObject | undefined
  /** Frozen; undefined on create. */
  readonly oldObject: KubernetesObject | undefined
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions. */
  readonly options: Readonly<Record<string, unknown>>
  readonly isDryRun: boolean
  readonly user: UserInfo
  /** Adds a Warning header. */
  warn(text: string): void
  annotateAudit(key: string, value: string): void
  /** Calls back when the request has ended: with true when the object was written. */
  onFinish(callback: (wasWritten: boolean) => void): void
}

/** The cluster as plugins read it: from memory, frozen, by plural name and group. */
export type ClusterView = {
  get(group: string, resource: string, namespace: string, name: string): KubernetesObject | undefined
  list(group: string, resource: string, namespace?: string): KubernetesObject[]
  /** Like `get`, but first waits until the cache holds everything committed so far. */
  getFresh(group: string, resource: string, namespace: string, name: string): Promise<KubernetesObject | undefined>
  /** Replaces the object if it is still at its resourceVersion, without admission; resolves to what is stored then, or throws a conflict. */
  replaceStatus(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject>
  /** Writes through the server's own identity, with admission: for plugins that provision. */
  create(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject>
  /** Calls back with each change to the resource, after replaying what exists. */
  onChange(group: string, resource: string, callback: (object: KubernetesObject, isDeleted: boolean) => void): Disposable
}

export type AdmissionPlugin = {
  readonly name: string
  readonly operations: readonly AdmissionOperation[]
  /** May change `request.object`; throws a StatusError to refuse. */
  mutate?(request: AdmissionRequest): void | Promise<void>
  /** Throws a StatusError to refuse. */
  validate?(request: AdmissionRequest): void | Promise<void>
}

/** How a plugin comes to life: it gets the cluster to look at, its configuration, and the seams. */
export type AdmissionPluginFactory = (context: AdmissionContext) => AdmissionPlugin

export type AdmissionContext = {
  readonly cluster: ClusterView
  readonly clock: import('#base/clock.ts').Clock
  readonly random: import('#base/random.ts').Random
  readonly logger: import('#base/log.ts').Logger
  readonly authorizer: import('#apiserver/authz/authorizer.ts').Authorizer
  isEnabled(featureGate: string): boolean
  /** The plugin's part of the AdmissionConfiguration file. */
  readonly configuration: unknown
}

export class AdmissionChain {
  readonly #mutating: Record<AdmissionOperation, AdmissionPlugin[]>
  readonly #validating: Record<AdmissionOperation, AdmissionPlugin[]>

  constructor(plugins: readonly AdmissionPlugin[]) {
    const forOperation = (has: (plugin: AdmissionPlugin) => boolean) => (operation: AdmissionOperation) =>
      plugins.filter((plugin) => has(plugin) && plugin.operations.includes(operation))
    this.#mutating = eachOperation(forOperation((plugin) => plugin.mutate !== undefined))
    this.#validating = eachOperation(forOperation((plugin) => plugin.validate !== undefined))
  }

  async mutate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#mutating[request.operation]) {
      const pending = plugin.mutate?.(request)
      if (pending !== undefined) await pending
    }
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#validating[request.operation]) {
      const pending = plugin.validate?.(request)
      if (pending !== undefined) await pending
    }
  }
}

function eachOperation(pluginsFor: (operation: AdmissionOperation) => AdmissionPlugin[]): Record<AdmissionOperation, AdmissionPlugin[]> {
  return { CREATE: pluginsFor('CREATE'), UPDATE: pluginsFor('UPDATE'), DELETE: pluginsFor('DELETE'), CONNECT: pluginsFor('CONNECT') }
}
