import type { V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import { mirrorPodAnnotation, type PodReferences, podReferences, resourceClaimNames } from '#apiserver/authz/node/pod-references.ts'
import { volumeSecrets } from '#apiserver/authz/node/volume-secrets.ts'

export type ObjectType =
  | 'secret'
  | 'configMap'
  | 'serviceAccount'
  | 'pod'
  | 'persistentVolumeClaim'
  | 'persistentVolume'
  | 'resourceClaim'
  | 'volumeAttachment'
  | 'resourceSlice'
  | 'podCertificateRequest'

type KnownPod = { readonly uid: string; readonly node: string; readonly changeable: string; readonly keys: readonly string[] }

/**
 * Which objects are which node's business: secret -> pod -> node, secret -> volume -> claim -> pod -> node, and so on.
 * Paths through pods are kept folded: for each object how many of its pods are on which node. Asking is then one or two look-ups,
 * and a change costs by what the changed object refers to.
 */
export class NodeGraph {
  /** By object, by node: how many pods (or direct links) join them. */
  readonly #links = new Map<string, Map<string, number>>()
  readonly #pods = new Map<string, KnownPod>()
  readonly #volumes = new Map<string, { claim: string; secrets: readonly string[] }>()
  readonly #volumesOfSecret = new Map<string, Set<string>>()
  readonly #direct = new Map<string, string>()
  /** By node: the config map that holds the configuration of its kubelet. */
  readonly #configMaps = new Map<string, string>()

  /** Whether there is a path from the object to the node. */
  isRelated(node: string, type: ObjectType, namespace: string, name: string): boolean {
    const key = keyOf(type, namespace, name)
    if (type === 'persistentVolume') return this.#isVolumeRelated(node, name)
    if (this.#links.get(key)?.has(node)) return true
    if (type !== 'secret') return false
    for (const volume of this.#volumesOfSecret.get(key) ?? []) if (this.#isVolumeRelated(node, volume)) return true
    return false
  }

  upsertPod(pod: V1Pod): void {
    const node = pod.spec.nodeName ?? ''
    if (node === '') return
    const { namespace = '', name = '', uid = '', annotations } = pod.metadata
    const podKey = keyOf('pod', namespace, name)
    // All other references of a bound pod are immutable: most changes, which are to its status, end here.
    const changeable = `${pod.spec.ephemeralContainers?.length ?? 0} ${resourceClaimNames(pod).join(' ')}`
    const known = this.#pods.get(podKey)
    if (known?.uid === uid && known.node === node && known.changeable === changeable) return
    this.removePod(namespace, name)
    // The node itself makes mirror pods: they must not open anything to it.
    const isMirror = annotations !== undefined && Object.hasOwn(annotations, mirrorPodAnnotation)
    const keys = [podKey, ...(isMirror ? [] : referencedKeys(pod, namespace, podReferences(pod)))]
    for (const key of keys) this.#link(key, node)
    this.#pods.set(podKey, { uid, node, changeable, keys })
  }

  removePod(namespace: string, name: string): void {
    const key = keyOf('pod', namespace, name)
    const known = this.#pods.get(key)
    if (known === undefined) return
    this.#pods.delete(key)
    for (const reference of known.keys) this.#unlink(reference, known.node)
  }

  upsertPersistentVolume(volume: V1PersistentVolume): void {
    const { name = '' } = volume.metadata
    this.removePersistentVolume(name)
    const { claimRef } = volume.spec
    if (claimRef === undefined) return
    const secrets = volumeSecrets(volume).map((secret) => keyOf('secret', secret.namespace, secret.name))
    this.#volumes.set(name, { claim: keyOf('persistentVolumeClaim', claimRef.namespace ?? '', claimRef.name ?? ''), secrets })
    for (const secret of secrets) {
      const volumes = this.#volumesOfSecret.get(secret) ?? new Set()
      volumes.add(name)
      this.#volumesOfSecret.set(secret, volumes)
    }
  }

  removePersistentVolume(name: string): void {
    const known = this.#volumes.get(name)
    if (known === undefined) return
    this.#volumes.delete(name)
    for (const secret of known.secrets) {
      const volumes = this.#volumesOfSecret.get(secret)
      volumes?.delete(name)
      if (volumes?.size === 0) this.#volumesOfSecret.delete(secret)
    }
  }

  /** Attachments, slices and certificate requests name their node themselves. */
  upsertOfNode(type: 'volumeAttachment' | 'resourceSlice' | 'podCertificateRequest', namespace: string, name: string, node: string): void {
    const key = keyOf(type, namespace, name)
    if (this.#direct.get(key) === node) return
    this.removeOfNode(type, namespace, name)
    if (node === '') return
    this.#direct.set(key, node)
    this.#link(key, node)
  }

  removeOfNode(type: 'volumeAttachment' | 'resourceSlice' | 'podCertificateRequest', namespace: string, name: string): void {
    const key = keyOf(type, namespace, name)
    const node = this.#direct.get(key)
    if (node === undefined) return
    this.#direct.delete(key)
    this.#unlink(key, node)
  }

  /** The config map that `spec.configSource` of the node names, if any. */
  setConfigMapOfNode(node: string, source: { namespace: string; name: string } | undefined): void {
    const key = source && keyOf('configMap', source.namespace, source.name)
    const known = this.#configMaps.get(node)
    if (key === known) return
    if (known !== undefined) this.#unlink(known, node)
    if (key === undefined) {
      this.#configMaps.delete(node)
      return
    }
    this.#configMaps.set(node, key)
    this.#link(key, node)
  }

  #isVolumeRelated(node: string, name: string): boolean {
    const volume = this.#volumes.get(name)
    return volume !== undefined && this.#links.get(volume.claim)?.has(node) === true
  }

  #link(key: string, node: string): void {
    let nodes = this.#links.get(key)
    if (nodes === undefined) {
      nodes = new Map()
      this.#links.set(key, nodes)
    }
    nodes.set(node, (nodes.get(node) ?? 0) + 1)
  }

  #unlink(key: string, node: string): void {
    const nodes = this.#links.get(key)
    const count = nodes?.get(node)
    if (nodes === undefined || count === undefined) return
    if (count > 1) nodes.set(node, count - 1)
    else nodes.delete(node)
    if (nodes.size === 0) this.#links.delete(key)
  }
}

function referencedKeys(pod: V1Pod, namespace: string, references: PodReferences): string[] {
  const account = pod.spec.serviceAccountName ?? ''
  const keys = (type: ObjectType, names: Set<string>) => [...names].map((name) => keyOf(type, namespace, name))
  return [
    ...(account === '' ? [] : [keyOf('serviceAccount', namespace, account)]),
    ...keys('secret', references.secrets),
    ...keys('configMap', references.configMaps),
    ...keys('persistentVolumeClaim', references.claims),
    ...keys('resourceClaim', references.resourceClaims),
  ]
}

const keyOf = (type: ObjectType, namespace: string, name: string): string => `${type}/${namespace}/${name}`
