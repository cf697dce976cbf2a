import type { V2HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { isConflict } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import type { DiscoveredResource } from '#client/discovery.ts'

export type Scale = {
  apiVersion?: string
  kind?: string
  metadata: { name?: string; namespace?: string; resourceVersion?: string }
  spec?: { replicas?: number }
  status?: { replicas?: number; selector?: string }
}

/** What an autoscaler makes larger and smaller. */
export type ScaleTarget = { readonly kind: Kind; readonly scale: Scale }

/** The autoscaler itself is wrong. */
export class SpecError extends Error {}

export async function scaleTarget(
  { metadata, spec }: V2HorizontalPodAutoscaler,
  resources: readonly DiscoveredResource[],
  client: Client,
): Promise<ScaleTarget> {
  const { apiVersion = '', kind, name } = spec.scaleTargetRef
  const parsed = parseApiVersion(apiVersion === '' ? 'v1' : apiVersion)
  if (parsed === undefined) throw new SpecError(`unexpected GroupVersion string: ${apiVersion}`)
  const candidates = resources.filter(
    (each) => each.kind === kind && each.group === parsed.group && each.subresourceNames.includes('scale'),
  )
  const found = candidates.find(({ version }) => version === parsed.version) ?? candidates[0]
  if (found === undefined) throw new Error(`no matches for kind "${kind}" in group "${parsed.group}"`)
  const scale = await client.subresource<Scale>('GET', found, { namespace: metadata.namespace ?? '', name }, 'scale')
  return { kind: found, scale }
}

const attempts = 5

/** Somebody else's write in between is not a reason to wait for the next round. */
export async function setReplicas({ kind, scale }: ScaleTarget, replicas: number, client: Client): Promise<void> {
  const { namespace = '', name = '' } = scale.metadata
  let current = scale
  for (let attempt = 1; ; attempt++) {
    try {
      await client.subresource('PUT', kind, { namespace, name }, 'scale', { ...current, spec: { ...current.spec, replicas } })
      return
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
      current = await client.subresource<Scale>('GET', kind, { namespace, name }, 'scale')
    }
  }
}
