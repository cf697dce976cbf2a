import type { V1Node, V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { boundTo, classNameOf, isReachableFrom, matchingVolume, sizeOf } from '#api/core/v1/volume/matching-volume.ts'
import { noProvisioner, selectedNode } from '#api/core/v1/volume/volume-annotations.ts'
import { isControlledBy } from '#api/meta/owner-references.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { failed, fits, type Status, unresolvable } from '#scheduler/framework/status.ts'
import { bindsLate, claimNameOf, claimNotFound, isFullyBound, usesClaims } from '#scheduler/plugins/pod-claims.ts'

const outOfReach = "node(s) didn't match PersistentVolume's node affinity"
const nothingToBind = "node(s) didn't find available persistent volumes to bind"
const noSpace = 'node(s) did not have enough free storage'
const volumeGone = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'

export type VolumeBindingArgs = { bindTimeoutSeconds?: number }

type Plan = {
  readonly bindings: readonly { volume: V1PersistentVolume; claim: V1PersistentVolumeClaim }[]
  readonly provisions: readonly V1PersistentVolumeClaim[]
}
type State = { readonly bound: V1PersistentVolumeClaim[]; readonly late: V1PersistentVolumeClaim[]; readonly plans: Map<string, Plan> }

/** Chooses the node and the volumes together: those that exist must be reachable, those that wait for a node must get one there. */
export function volumeBinding(args: VolumeBindingArgs, { objects, client, clock, nextChange }: PluginHandle) {
  const timeoutMs = (args.bindTimeoutSeconds ?? 600) * 1000
  /** What we have promised but not seen yet, by name. */
  const promisedVolumes = new Map<string, V1PersistentVolume>()
  const promisedClaims = new Map<string, V1PersistentVolumeClaim>()
  const keyOf = ({ metadata }: V1PersistentVolumeClaim) => `${metadata?.namespace}/${metadata?.name}`

  return defineSchedulerPlugin<State>({
    name: 'VolumeBinding',
    retryOn: [
      on.changed('PersistentVolumeClaim'),
      on.changed('PersistentVolume'),
      on.changed('StorageClass'),
      on.changed('CSINode'),
      on.changed('CSIDriver'),
      on.changed('CSIStorageCapacity'),
      on.node.added,
      on.node.labelsChanged,
    ],

    preFilter(info) {
      if (!usesClaims(info.pod)) return 'skip'
      const bound: V1PersistentVolumeClaim[] = []
      const late: V1PersistentVolumeClaim[] = []
      let waitsForController = false
      for (const volume of info.pod.spec.volumes ?? []) {
        const name = claimNameOf(info.pod, volume)
        if (name === undefined) continue
        const claim = claimOf(info.namespace, name)
        const reason = whyUnusable(info, claim, name, volume.ephemeral !== undefined)
        if (reason !== undefined) return { refused: unresolvable(reason) }
        if (claim === undefined) continue
        if (isFullyBound(claim)) bound.push(claim)
        else if (bindsLate(claim, objects) && !claim.spec?.volumeName) late.push(claim)
        else waitsForController = true
      }
      if (waitsForController) return { refused: unresolvable('pod has unbound immediate PersistentVolumeClaims') }
      return { state: { bound, late: late.toSorted((one, other) => sizeOf(one) - sizeOf(other)), plans: new Map() } }
    },

    filter(_, { node, name }, { bound, late, plans }) {
      const reasons: string[] = []
      const volumes = bound.map(({ spec }) => volumeOf(spec?.volumeName ?? ''))
      if (volumes.some((volume) => volume !== undefined && !isReachableFrom(volume, node))) reasons.push(outOfReach)
      const plan = planFor(late, node)
      if (plan === 'no-volume') reasons.push(nothingToBind)
      else if (plan === 'no-space') reasons.push(noSpace)
      else plans.set(name, plan)
      if (volumes.includes(undefined)) reasons.push(volumeGone)
      return reasons.length === 0 ? fits : unresolvable(...reasons)
    },

    reserve(_, nodeName, state) {
      const plan = state?.plans.get(nodeName)
      for (const { volume, claim } of plan?.bindings ?? []) promisedVolumes.set(volume.metadata?.name ?? '', boundTo(volume, claim))
      for (const claim of plan?.provisions ?? []) promisedClaims.set(keyOf(claim), onNode(claim, nodeName))
      return undefined
    },
    unreserve(_, nodeName, state) {
      const plan = state?.plans.get(nodeName)
      for (const { volume } of plan?.bindings ?? []) promisedVolumes.delete(volume.metadata?.name ?? '')
      for (const claim of plan?.provisions ?? []) promisedClaims.delete(keyOf(claim))
    },

    takesTimeToBind: (nodeName, state) => hasWork(state?.plans.get(nodeName)),
    async preBind(_, nodeName, state, signal) {
      const plan = state?.plans.get(nodeName)
      if (plan === undefined || !hasWork(plan)) return undefined
      try {
        for (const { volume, claim } of plan.bindings) await client.updateVolume(boundTo(volume, claim))
        for (const claim of plan.provisions) await client.updateClaim(onNode(claim, nodeName))
        const status = await allBound(nodeName, plan, signal)
        if (status !== undefined) return status
        for (const { volume } of plan.bindings) promisedVolumes.delete(volume.metadata?.name ?? '')
        for (const claim of plan.provisions) promisedClaims.delete(keyOf(claim))
        return undefined
      } catch (error) {
        return failed(error)
      }
    },
  })

  function claimOf(namespace: string, name: string): V1PersistentVolumeClaim | undefined {
    const known = objects.of('PersistentVolumeClaim').get(namespace, name)
    return known === undefined || isFullyBound(known) ? known : (promisedClaims.get(`${namespace}/${name}`) ?? known)
  }

  function volumeOf(name: string): V1PersistentVolume | undefined {
    const known = objects.of('PersistentVolume').get('', name)
    return known === undefined || known.spec?.claimRef ? known : (promisedVolumes.get(name) ?? known)
  }

  function whyUnusable(
    { pod }: PodInfo,
    claim: V1PersistentVolumeClaim | undefined,
    name: string,
    isEphemeral: boolean,
  ): string | undefined {
    if (claim === undefined) {
      return isEphemeral ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"` : claimNotFound(name)
    }
    if (claim.status?.phase === 'Lost')
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`
    if (claim.metadata?.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`
    if (isEphemeral && !isControlledBy(claim, pod)) {
      return `PVC ${claim.metadata?.namespace}/${name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`
    }
    return undefined
  }

  function planFor(late: readonly V1PersistentVolumeClaim[], node: V1Node): Plan | 'no-volume' | 'no-space' {
    const bindings: { volume: V1PersistentVolume; claim: V1PersistentVolumeClaim }[] = []
    const provisions: V1PersistentVolumeClaim[] = []
    if (late.length === 0) return { bindings, provisions }
    const taken = new Set(promisedVolumes.keys())
    for (const claim of late) {
      const chosen = claim.metadata?.annotations?.[selectedNode]
      if (chosen !== undefined && chosen !== node.metadata.name) return 'no-volume'
      const volume = chosen === undefined ? matchingVolume(claim, objects.of('PersistentVolume').values(), { node, taken }) : undefined
      if (volume !== undefined) {
        taken.add(volume.metadata?.name ?? '')
        bindings.push({ volume, claim })
        continue
      }
      const storageClass = objects.of('StorageClass').get('', classNameOf(claim))
      if (storageClass === undefined || !canProvision(storageClass, node)) return 'no-volume'
      if (!hasSpace(claim, storageClass, node)) return 'no-space'
      provisions.push(claim)
    }
    return { bindings, provisions }
  }

  /** Drivers that publish how much they have left are believed. */
  function hasSpace(claim: V1PersistentVolumeClaim, { provisioner, metadata }: V1StorageClass, node: V1Node): boolean {
    if (!objects.of('CSIDriver').get('', provisioner)?.spec.storageCapacity) return true
    for (const { storageClassName, capacity, maximumVolumeSize, nodeTopology } of objects.of('CSIStorageCapacity').values()) {
      if (storageClassName !== metadata?.name || !nodeTopology) continue
      const room = wholeValueOf(maximumVolumeSize ?? capacity)
      if (room >= sizeOf(claim) && labelSelectorFrom(nodeTopology).matches(node.metadata.labels)) return true
    }
    return false
  }

  async function allBound(nodeName: string, { bindings, provisions }: Plan, signal: AbortSignal): Promise<Status | undefined> {
    const claims = [...bindings.map(({ claim }) => claim), ...provisions]
    const isSettled = () => claims.every((claim) => isBoundNow(claim))
    const timeUp = new AbortController()
    using _ = clock.after(timeoutMs, () => timeUp.abort())
    const deadline = AbortSignal.any([signal, timeUp.signal])
    while (!isSettled()) {
      const strayed = provisions.find((claim) => hasStrayed(claim, nodeName))
      if (strayed !== undefined) return failed(new Error(`binding volumes: provisioning failed for PVC "${strayed.metadata?.name}"`))
      try {
        await nextChange('PersistentVolumeClaim', deadline)
      } catch {
        return failed(new Error('binding volumes: context deadline exceeded'))
      }
    }
    return undefined
  }

  function currentOf({ metadata }: V1PersistentVolumeClaim): V1PersistentVolumeClaim | undefined {
    return objects.of('PersistentVolumeClaim').get(metadata?.namespace ?? '', metadata?.name ?? '')
  }

  function isBoundNow(claim: V1PersistentVolumeClaim): boolean {
    const current = currentOf(claim)
    return current !== undefined && isFullyBound(current)
  }

  /** The provisioner takes the annotation away when it cannot provision there. */
  function hasStrayed(claim: V1PersistentVolumeClaim, nodeName: string): boolean {
    const current = currentOf(claim)
    if (current === undefined) return true
    const isSeen = Number(current.metadata?.resourceVersion ?? 0) > Number(claim.metadata?.resourceVersion ?? 0)
    return isSeen && current.metadata?.annotations?.[selectedNode] !== nodeName
  }
}

const hasWork = (plan: Plan | undefined): boolean => plan !== undefined && plan.bindings.length + plan.provisions.length > 0

function onNode(claim: V1PersistentVolumeClaim, nodeName: string): V1PersistentVolumeClaim {
  return { ...claim, metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, [selectedNode]: nodeName } } }
}

function canProvision({ provisioner, allowedTopologies }: V1StorageClass, { metadata }: V1Node): boolean {
  if (!provisioner || provisioner === noProvisioner) return false
  if (!allowedTopologies?.length) return true
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => (values ?? []).includes(metadata.labels?.[key] ?? '\u0000')),
  )
}
