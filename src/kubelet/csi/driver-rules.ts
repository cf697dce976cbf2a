/** What a CSIDriver object says about how volumes of the driver are given to pods. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'
import type { ServiceAccountTokens } from '#kubelet/volumes/service-account-tokens.ts'

export function mustSupportLifecycle(driver: string, rules: V1CSIDriver | undefined, isInline: boolean): void {
  const mode = isInline ? 'Ephemeral' : 'Persistent'
  const modes = rules?.spec?.volumeLifecycleModes ?? []
  if (rules === undefined && isInline)
    throw new Error(`volume mode ${quoted(mode)} not supported by driver ${driver} (no CSIDriver object)`)
  if (modes.length === 0 ? !isInline : modes.includes(mode)) return
  const supported = modes.length === 0 ? ['Persistent'] : modes
  throw new Error(
    `volume mode ${quoted(mode)} not supported by driver ${driver} (only supports ${JSON.stringify(supported).replaceAll(',', ' ')})`,
  )
}

/** Whether files are given to the pod's group by the node, after the driver has published the volume. */
export function changesGroup({ source, accessModes, isReadOnly, isInline }: VolumeSpec, rules: V1CSIDriver | undefined): boolean {
  const policy = rules?.spec?.fsGroupPolicy ?? 'ReadWriteOnceWithFSType'
  if (isReadOnly || source.csi?.readOnly) return false
  if (policy === 'File') return true
  if (policy === 'None' || !source.csi?.fsType) return false
  return isInline || accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod')
}

export type PodAttributes = { attributes: Record<string, string>; secretAttributes: Record<string, string> }

/** What the driver is told of the pod, where it has asked for that. */
export async function podAttributes(
  pod: V1Pod,
  rules: V1CSIDriver | undefined,
  isInline: boolean,
  tokens: ServiceAccountTokens,
): Promise<PodAttributes> {
  const { podInfoOnMount = false, tokenRequests = [], serviceAccountTokenInSecrets = false } = rules?.spec ?? {}
  const { name = '', namespace = '', uid = '' } = pod.metadata
  const attributes: Record<string, string> = podInfoOnMount
    ? {
        'csi.storage.k8s.io/pod.name': name,
        'csi.storage.k8s.io/pod.namespace': namespace,
        'csi.storage.k8s.io/pod.uid': uid,
        'csi.storage.k8s.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
        'csi.storage.k8s.io/ephemeral': String(isInline),
      }
    : {}
  if (tokenRequests.length === 0) return { attributes, secretAttributes: {} }
  const all: Record<string, { token: string; expirationTimestamp: string }> = {}
  for (const { audience = '', expirationSeconds } of tokenRequests) {
    all[audience] = await tokens.getWithExpiry(pod, { path: '', audience, ...defined({ expirationSeconds }) })
  }
  const tokenAttributes = { 'csi.storage.k8s.io/serviceAccount.tokens': JSON.stringify(all) }
  return serviceAccountTokenInSecrets
    ? { attributes, secretAttributes: tokenAttributes }
    : { attributes: { ...attributes, ...tokenAttributes }, secretAttributes: {} }
}
