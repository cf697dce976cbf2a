/** What stands before every write to an extension server: namespaces, its own plugins, the webhooks of the cluster; in upstream's order. */
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { namespaceLifecycle } from '#apiserver/admission/namespace-lifecycle.ts'
import { mutatingAdmissionWebhook } from '#apiserver/admission/webhooks/mutating-admission-webhook.ts'
import { validatingAdmissionWebhook } from '#apiserver/admission/webhooks/validating-admission-webhook.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { ClusterInformers } from '#apiserver/delegation/cluster-informers.ts'
import type { DelegationSeams } from '#apiserver/delegation/delegated-reviews.ts'
import { ServiceRoutes } from '#apiserver/webhooks/service-routes.ts'
import { WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Metrics } from '#base/metrics.ts'

export class ExtensionAdmission implements Disposable {
  readonly #seams: DelegationSeams
  readonly #metrics: Metrics
  readonly #opened = new DisposableStack()
  readonly #informers: ClusterInformers

  constructor(seams: DelegationSeams, metrics: Metrics) {
    this.#seams = seams
    this.#metrics = metrics
    this.#informers = this.#opened.use(new ClusterInformers(seams))
  }

  /** Resolves when what the cluster says about writes is known. */
  start(): Promise<void> {
    return this.#informers.start()
  }

  plugins(objects: ClusterView, authorizer: Authorizer, own: readonly AdmissionPlugin[]): readonly AdmissionPlugin[] {
    const { clock, random, logger } = this.#seams
    const cluster = this.#informers.beside(objects)
    const routes = this.#opened.use(
      new ServiceRoutes({
        cluster: () => cluster,
        random,
        endpointsOnly: false,
        isSimulated: () => false,
        ownAddress: () => '',
      }),
    )
    const webhooks = this.#opened.use(
      new WebhookCalls({
        clock,
        makeClient: nodeHttpClient,
        hostOf: async (service) => {
          await this.#informers.services()
          return routes.hostOf(service)
        },
      }),
    )
    const context: AdmissionContext = {
      cluster,
      clock,
      random,
      logger,
      authorizer,
      metrics: this.#metrics,
      isEnabled: () => false,
      configuration: undefined,
      webhooks,
    }
    return [namespaceLifecycle(context), ...own, mutatingAdmissionWebhook(context), validatingAdmissionWebhook(context)]
  }

  [Symbol.dispose](): void {
    this.#opened.dispose()
  }
}
