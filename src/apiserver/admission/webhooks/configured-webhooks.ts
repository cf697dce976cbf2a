import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import type {
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '#api/admissionregistration/v1/types.gen.ts'
import type { AdmissionContext } from '#apiserver/admission/admission.ts'

export type Webhook = V1ValidatingWebhook & Pick<V1MutatingWebhook, 'reinvocationPolicy'>

export type ConfiguredWebhook = {
  readonly configuration: string
  /** Tells it from all others, also from those of its name in the same configuration. */
  readonly uid: string
  readonly webhook: Webhook
}

type Configuration = V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration

/** The webhooks as the cluster has them now: by the name of their configuration, then in their own order. */
export function followWebhooks(cluster: AdmissionContext['cluster'], kind: 'mutating' | 'validating'): () => readonly ConfiguredWebhook[] {
  const configurations = new Map<string, Configuration>()
  let webhooks: readonly ConfiguredWebhook[] = []
  const keep = (object: Configuration, isDeleted: boolean) => {
    const name = object.metadata?.name ?? ''
    if (isDeleted) configurations.delete(name)
    else configurations.set(name, object)
    webhooks = [...configurations.keys()].toSorted().flatMap((each) => webhooksOf(each, configurations.get(each) as Configuration))
  }
  if (kind === 'mutating') cluster.onChange(MutatingWebhookConfiguration, keep)
  else cluster.onChange(ValidatingWebhookConfiguration, keep)
  return () => webhooks
}

function webhooksOf(configuration: string, { webhooks }: Configuration): ConfiguredWebhook[] {
  const times = new Map<string, number>()
  return (webhooks ?? []).map((webhook) => {
    const name = webhook.name ?? ''
    const time = times.get(name) ?? 0
    times.set(name, time + 1)
    return { configuration, uid: `${configuration}/${name}/${time}`, webhook: webhook as Webhook }
  })
}
