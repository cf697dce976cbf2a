/** Serves admission and conversion webhooks, and tells the API server of them. */
import type { V1AdmissionReview } from '#api/admission/v1/types.gen.ts'
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { V1WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.ts'
import type { V1ConversionReview, V1CustomResourceConversion } from '#api/apiextensions/v1/types.gen.ts'
import type { CustomResource } from '#api/declaration/define-custom-resource.ts'
import { gvkOf } from '#api/meta/gvk.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { type Clock, systemClock } from '#base/clock.ts'
import { type HttpExchange, listenHttp } from '#base/http-server.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { type Random, systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { AdmissionWebhook } from '#cmd/operator/define-webhook.ts'
import { keepWebhookCertificates, type WebhookCertificate } from '#cmd/operator/webhook-certificates.ts'

export type ServeWebhooksOptions = {
  /** Of the configurations that tell the API server of the webhooks. */
  name: string
  client: Client
  webhooks: readonly AdmissionWebhook[]
  /** Kinds of several versions, which it converts between. */
  resources?: readonly CustomResource[]
  /** How the API server reaches it: by a service, or at an address outside the cluster. */
  reachedBy: { service: { namespace: string; name: string; port?: number } } | { host: string }
  /** Where the certificate and its authority are kept; beside the service, named after it, unless said. */
  secret?: { namespace: string; name: string }
  host?: string
  /** 9443 unless said; any free one where 0. */
  port?: number
  clock?: Clock
  random?: Random
  logger?: Logger
}

export type ServedWebhooks = AsyncDisposable & {
  readonly port: number
  /** For definitions of kinds with several versions. */
  conversion(): V1CustomResourceConversion
  /** Writes the configurations. Call it when what the webhooks need is there; from then on they follow the certificate. */
  register(): Promise<void>
  stop(): Promise<void>
}

const bodyLimitBytes = 16 << 20
const manager = { fieldManager: 'typernetes-operator', force: true }

/** Resolves when they are served; the API server learns of them by `register`. */
export async function serveWebhooks(options: ServeWebhooksOptions): Promise<ServedWebhooks> {
  const { name, client, webhooks, resources = [], reachedBy, port = 9443, host = '0.0.0.0' } = options
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = options
  let isRegistered = false
  let certificate: WebhookCertificate
  const onRenewed = async (next: WebhookCertificate) => {
    certificate = next
    listener.setTls(next)
    logger.info('renewed the certificate of webhooks', { operator: name })
    if (isRegistered) await register()
  }
  const secret = options.secret ?? secretOf(options)
  const kept = await keepWebhookCertificates({ client, secret, ...namesOf(reachedBy), onRenewed, clock, random, logger })
  certificate = kept.first
  const onExchange = (exchange: HttpExchange) => {
    answer(exchange, webhooks, resources).catch((error: unknown) => {
      logger.error('webhook failed', { path: exchange.target, error: error instanceof Error ? (error.stack ?? '') : String(error) })
      if (!exchange.isClosed) exchange.respond(500, { 'content-type': 'text/plain' }, 'the webhook failed; its log says why\n')
    })
  }
  const listener = await listenHttp({ host, port, tls: certificate, onExchange }).catch((error: unknown) => {
    kept[Symbol.dispose]()
    throw error
  })
  const clientConfig = (path: string): V1WebhookClientConfig & { caBundle: string } => ({
    caBundle: certificate.caBundle,
    ...('host' in reachedBy
      ? { url: `https://${reachedBy.host}:${listener.port}${path}` }
      : { service: { port: 443, ...reachedBy.service, path } }),
  })
  const configured = (isMutating: boolean) =>
    webhooks
      .filter((each) => each.isMutating === isMutating)
      .map(({ path, configuration }) => ({ ...configuration, clientConfig: clientConfig(path) }))
  const conversion = (): V1CustomResourceConversion => ({
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig('/convert') as never },
  })
  const register = async () => {
    isRegistered = true
    const mutating = configured(true)
    const validating = configured(false)
    if (mutating.length > 0) await client.apply(MutatingWebhookConfiguration, { metadata: { name }, webhooks: mutating }, manager)
    if (validating.length > 0) await client.apply(ValidatingWebhookConfiguration, { metadata: { name }, webhooks: validating }, manager)
    for (const { definition } of resources) {
      // Only the part that changes with the certificate: the rest belongs to whoever installs the definition.
      await installConversion(client, definition.metadata.name ?? '', conversion())
    }
  }
  const stop = async () => {
    kept[Symbol.dispose]()
    await listener.close()
  }
  return { port: listener.port, conversion, register, stop, [Symbol.asyncDispose]: stop }
}

async function installConversion(client: Client, name: string, conversion: V1CustomResourceConversion): Promise<void> {
  const { CustomResourceDefinition } = await import('#api/apiextensions/v1/kinds.gen.ts')
  await client.patch(CustomResourceDefinition, { name }, { spec: { conversion } }, { type: 'merge', fieldManager: manager.fieldManager })
}

function secretOf({ reachedBy, name }: ServeWebhooksOptions): { namespace: string; name: string } {
  if ('host' in reachedBy) return { namespace: 'default', name: `${name}-webhooks` }
  return { namespace: reachedBy.service.namespace, name: `${reachedBy.service.name}-certificate` }
}

function namesOf(reachedBy: ServeWebhooksOptions['reachedBy']): { dnsNames: string[]; ipAddresses: string[] } {
  if ('service' in reachedBy) {
    const { namespace, name } = reachedBy.service
    return { dnsNames: [`${name}.${namespace}.svc`, `${name}.${namespace}`], ipAddresses: [] }
  }
  const isAddress = /^[\d.]+$|:/.test(reachedBy.host)
  return isAddress ? { dnsNames: [], ipAddresses: [reachedBy.host] } : { dnsNames: [reachedBy.host], ipAddresses: [] }
}

async function answer(exchange: HttpExchange, webhooks: readonly AdmissionWebhook[], resources: readonly CustomResource[]): Promise<void> {
  const path = exchange.target.split('?')[0]
  const webhook = webhooks.find((each) => each.path === path)
  if (exchange.method !== 'POST' || (webhook === undefined && path !== '/convert')) {
    exchange.respond(404, { 'content-type': 'text/plain' }, 'there is no webhook here\n')
    return
  }
  const review = JSON.parse(Buffer.from(await exchange.readBody(bodyLimitBytes)).toString('utf8')) as V1AdmissionReview & V1ConversionReview
  const { apiVersion, kind } = review
  const response = webhook === undefined ? converted(review, resources) : await webhook.answer(review.request ?? {})
  exchange.respond(200, { 'content-type': 'application/json' }, JSON.stringify({ apiVersion, kind, response }))
}

/** All or none: one object that cannot be converted fails the list it is in. */
function converted({ request }: V1ConversionReview, resources: readonly CustomResource[]): object {
  const { uid, objects = [], desiredAPIVersion = '' } = request ?? {}
  try {
    const convertedObjects = (objects as KubernetesObject[]).map((object) => {
      const { group, kind } = gvkOf(object)
      const resource = resources.find((each) => each.group === group && each.kind === kind)
      if (resource?.convert === undefined) throw new Error(`nobody here converts ${kind}.${group}`)
      return resource.convert(object, desiredAPIVersion)
    })
    return { uid, convertedObjects, result: { status: 'Success' } }
  } catch (error) {
    return { uid, convertedObjects: [], result: { status: 'Failure', message: error instanceof Error ? error.message : String(error) } }
  }
}
