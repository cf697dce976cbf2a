import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import { keyOf, splitKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { labelsOfVolumes } from '#controllers/selinux-warning/selinux-label.ts'
import { type Conflict, messageOf, VolumeLabels } from '#controllers/selinux-warning/volume-labels.ts'
import { ephemeralClaimName, indexPodsByClaim, podsOfClaim } from '#controllers/workload/pod-claims.ts'

const names = { name: 'selinux-warning-controller', alias: 'selinux-warning-controller', serviceAccount: 'selinux-warning-controller' }

/** Warns of pods that could not share their volume if it were mounted with an SELinux label. Runs when asked for: nodes must have SELinux. */
export const selinuxWarningController: Controller = {
  ...names,
  isOffByDefault: true,
  isNeeded: ({ isEnabled }) => isEnabled('SELinuxChangePolicy'),
  start(environment) {
    const labels = new VolumeLabels()
    const { metrics } = environment.metrics
    metrics.measured('selinux_warning_controller_selinux_volume_conflict', 'Pods that use a volume with different SELinux properties', () =>
      labels.conflicts().map((conflict) => [metricLabels(conflict), 1] as const),
    )
    return warnings(labels).start(environment)
  },
}

const warnings = (labels: VolumeLabels): Controller =>
  defineController({
    ...names,
    queueName: 'selinux_warning',
    eventComponent: 'selinux_warning',
    for: Pod,
    concurrency: 1,
    indexes: indexPodsByClaim,
    ignores: (pod, prev) => prev !== undefined && isPodFinished(pod) === isPodFinished(prev),
    watches: [
      on(PersistentVolumeClaim, (claim, cache, { prev, isGone }) =>
        isGone || !claim.spec.volumeName || prev?.spec.volumeName === claim.spec.volumeName ? [] : podsOfClaim(claim, cache).map(keyOf),
      ),
      on(PersistentVolume, ({ spec: { claimRef } }, cache, { prev, isGone }) => {
        if (isGone || !claimRef?.uid || prev?.spec.claimRef?.uid === claimRef.uid) return []
        const claim = cache.get(PersistentVolumeClaim, claimRef.namespace ?? '', claimRef.name ?? '')
        return claim === undefined ? [] : podsOfClaim(claim, cache).map(keyOf)
      }),
      on(CSIDriver, ({ metadata, spec }, cache, { prev, isGone }) => {
        if (!isGone && prev !== undefined && (prev.spec.seLinuxMount ?? false) === (spec.seLinuxMount ?? false)) return []
        return cache
          .list(Pod)
          .filter((pod) => pod.spec.volumes?.some((volume) => sourceOf(pod, volume, cache)?.driver === metadata.name))
          .map(keyOf)
      }),
    ],
    async reconcile(pod, context) {
      if (isPodFinished(pod)) labels.remove(context.key)
      else warn(pod, labels, context)
    },
    async reconcileGone(_namespace, _name, { key }) {
      labels.remove(key)
    },
  })

function warn(pod: V1Pod, labels: VolumeLabels, { cache, events, key }: ReconcileContext): void {
  const wanted = labelsOfVolumes(pod)
  for (const volume of pod.spec.volumes ?? []) {
    const [label, ...others] = wanted.get(volume.name) ?? []
    const source = sourceOf(pod, volume, cache)
    if (label === undefined || source === undefined) continue
    const mountsWithLabel = cache.get(CSIDriver, '', source.driver)?.spec.seLinuxMount ?? false
    if (others.length > 0 && mountsWithLabel) {
      const message = `Volume "${volume.name}" is mounted twice with different SELinux labels inside this pod`
      events.warning(Pod, pod, 'MultipleSELinuxLabels', message)
      continue
    }
    // Without that the runtime labels every file, whatever the pod says.
    const policy = mountsWithLabel ? (pod.spec.securityContext?.seLinuxChangePolicy ?? 'MountOption') : 'Recursive'
    const conflicts = labels.add(`${source.driver}^${source.handle}`, key, { label: policy === 'Recursive' ? '' : label, policy })
    for (const conflict of conflicts) tell(conflict, cache, events)
  }
}

function tell(conflict: Conflict, cache: Cache, events: ReconcileContext['events']): void {
  const { namespace, name } = splitKey(conflict.pod)
  const pod = cache.get(Pod, namespace, name)
  if (pod !== undefined) events.normal(Pod, pod, `${conflict.property}Conflict`, messageOf(conflict))
}

/** The driver's volume behind a volume of a pod. */
function sourceOf(pod: V1Pod, { name, persistentVolumeClaim, ephemeral }: V1Volume, cache: Cache) {
  if (!persistentVolumeClaim && !ephemeral) return undefined
  const { namespace = '', name: podName = '' } = pod.metadata
  const claim = cache.get(PersistentVolumeClaim, namespace, persistentVolumeClaim?.claimName ?? ephemeralClaimName(podName, name))
  const volume = claim?.spec.volumeName ? cache.get(PersistentVolume, '', claim.spec.volumeName) : undefined
  return volume && attachedVolume(volume.spec, volume.metadata.labels)
}

function metricLabels({ property, pod, value, other, otherValue }: Conflict) {
  const [one, two] = [splitKey(pod), splitKey(other)]
  return {
    ...{ property, pod1_namespace: one.namespace, pod1_name: one.name, pod1_value: value },
    ...{ pod2_namespace: two.namespace, pod2_name: two.name, pod2_value: otherValue },
  }
}
