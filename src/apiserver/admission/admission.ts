/** What stands between a decoded request and the store: plugins that change it, then plugins that validate it. */
import { groupResourceText } from '#api/meta/gvk.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { Rounds } from '#apiserver/admission/reinvocation.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { ReviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { WebhookCall, WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'

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
  /** By the clock's `monotonic`: nobody waits any longer then. Undefined for requests without an end. */
  readonly deadlineMs?: number | undefined
  /** Adds a Warning header. */
  warn(text: string): void
  /** What tells of the object's content is left out of records that leave it out. */
  annotateAudit(key: string, value: string, level?: 'Metadata' | 'Request'): void
  /** Calls back when the request has ended: with true when the object was written. */
  onFinish(callback: (wasWritten: boolean) => void): void
}

export type AdmissionPlugin = {
  readonly name: string
  readonly operations: readonly AdmissionOperation[]
  /**
   * What the plugin is asked about, written as in permissions: `pods`, `pods/resize`, `deployments.apps`, or `pods/*` for the
   * object and all its subresources. The stored resource counts, whatever version the request speaks. Everything when absent.
   */
  readonly resources?: readonly string[]
  /** May change `request.object`; throws a StatusError to refuse. Called twice where others change the object: doing it again must not add to it. */
  mutate?(request: AdmissionRequest, rounds: Rounds): void | Promise<void>
  /** Throws a StatusError to refuse. */
  validate?(request: AdmissionRequest): void | Promise<void>
}

/** How a plugin comes to life: it gets the cluster to look at, its configuration, and the seams. The caches may still be empty then. */
export type AdmissionPluginFactory = (context: AdmissionContext) => AdmissionPlugin

export type AdmissionContext = {
  readonly cluster: ClusterView
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly authorizer: Authorizer
  readonly metrics?: Metrics | undefined
  isEnabled(featureGate: string): boolean
  /** The plugin's part of the AdmissionConfiguration file, as parsed. */
  readonly configuration: unknown
  /** Makes the sender to a service that a kubeconfig file describes; absent where the server has no way to the outside. */
  reviewWebhook?(kubeconfigPath: string, retryDelayMs: number): ReviewWebhook
  /** Calls webhooks of the cluster, by service or URL; absent where the server has no way to the outside. */
  readonly webhooks?: Pick<WebhookCalls, 'post'> | undefined
  /** What a kubeconfig file says this server shows to webhooks. */
  webhookCredentials?(kubeconfigPath: string): NonNullable<WebhookCall['credentialsFor']>
}

type Plan = { readonly mutating: readonly AdmissionPlugin[]; readonly validating: readonly AdmissionPlugin[] }

/** Asks the plugins in their order, each about its own resources only. */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[]
  /** Which plugins a request meets is settled once for each resource, subresource and operation. */
  readonly #plans = new WeakMap<ResourceDefinition, Map<string, Plan>>()

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins
  }

  async mutate(request: AdmissionRequest): Promise<void> {
    const { mutating } = this.#planFor(request)
    const rounds = new Rounds()
    await mutateInTurn(mutating, request, rounds)
    if (!rounds.isRepeatWanted) return
    rounds.beginRepeat()
    await mutateInTurn(mutating, request, rounds)
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#planFor(request).validating) {
      const pending = plugin.validate?.(request)
      if (pending !== undefined) await pending
    }
  }

  #planFor({ definition, subresource, operation }: AdmissionRequest): Plan {
    let plans = this.#plans.get(definition)
    if (plans === undefined) {
      plans = new Map()
      this.#plans.set(definition, plans)
    }
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    let plan = plans.get(key)
    if (plan === undefined) {
      const asked = this.#plugins.filter((plugin) => plugin.operations.includes(operation) && looksAt(plugin, definition, subresource))
      plan = {
        mutating: asked.filter((plugin) => plugin.mutate !== undefined),
        validating: asked.filter((plugin) => plugin.validate !== undefined),
      }
      plans.set(key, plan)
    }
    return plan
  }
}

async function mutateInTurn(plugins: readonly AdmissionPlugin[], request: AdmissionRequest, rounds: Rounds): Promise<void> {
  for (const plugin of plugins) {
    const pending = plugin.mutate?.(request, rounds)
    if (pending !== undefined) await pending
  }
}

function looksAt({ resources }: AdmissionPlugin, { group, plural }: ResourceDefinition, subresource: string): boolean {
  if (resources === undefined) return true
  const resource = groupResourceText({ group, resource: plural })
  return resources.includes(subresource === '' ? resource : `${resource}/${subresource}`) || resources.includes(`${resource}/*`)
}
