import { Pod } from '#api/core/v1/kinds.gen.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { V1Container, V1EnvFromSource, V1Pod } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { type Equality, equalityOf } from '#api/meta/equality.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { PodPreset, type V1alpha1PodPreset } from '#api/settings/v1alpha1/pod-preset.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { errorMessage } from '#base/error-message.ts'

const sameSpec = equalityOf(Pod).at('spec')
const sameContainer = sameSpec.at('containers').each

const prefix = 'podpreset.admission.kubernetes.io'

/** Pods get environment and volumes from the presets of their namespace that select them. Presets that contradict the pod are left out. */
export function podPreset({ cluster, logger }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'PodPreset',
    operations: ['CREATE'],
    resources: ['pods'],
    mutate(request) {
      const pod = objectOf(Pod, request)
      const { annotations = {}, labels } = pod.metadata
      if (annotations[mirrorPodAnnotation] !== undefined || annotations[`${prefix}/exclude`] === 'true') return
      const presets = cluster.list(PodPreset, request.namespace).filter(({ spec }) => selects(spec?.selector, labels))
      if (presets.length === 0) return
      try {
        apply(pod, presets)
      } catch (error) {
        if (!(error instanceof Contradiction)) throw error
        const names = presets.map(({ metadata }) => metadata?.name).join(',')
        logger.warn('conflict applying PodPresets, skipped', { presets: names, pod: pod.metadata.name, error: error.message })
      }
    },
  }
}

class Contradiction extends Error {}

function selects(selector: V1LabelSelector | undefined, labels: Record<string, string> | undefined): boolean {
  try {
    return labelSelectorFrom(selector ?? {}).matches(labels)
  } catch (error) {
    throw unknownFailure(`filtering pod presets failed: ${errorMessage(error)}`)
  }
}

/** All or nothing: everything is put together before the pod is touched. */
function apply(pod: V1Pod, presets: readonly V1alpha1PodPreset[]): void {
  const specs = presets.map(({ spec }) => deepCopy(spec ?? {}))
  const volumes = merged(
    pod.spec?.volumes,
    specs.map((spec) => spec.volumes),
    ({ name }) => name,
    sameSpec.at('volumes'),
  )
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]
  const parts = containers.map((container): Required<Pick<V1Container, 'env' | 'envFrom' | 'volumeMounts'>> => {
    const mounts = specs.map((spec) => spec.volumeMounts)
    merged(container.volumeMounts, mounts, ({ mountPath }) => mountPath, sameContainer.at('volumeMounts'))
    return {
      env: merged(
        container.env,
        specs.map((spec) => spec.env),
        ({ name }) => name,
        sameContainer.at('env'),
      ),
      envFrom: merged(
        container.envFrom,
        specs.map((spec) => spec.envFrom),
        envFromKey,
        sameContainer.at('envFrom'),
      ),
      volumeMounts: merged(container.volumeMounts, mounts, ({ name }) => name, sameContainer.at('volumeMounts')),
    }
  })
  if (volumes.length > 0) pod.spec.volumes = volumes
  for (const [index, container] of containers.entries()) {
    for (const [field, list] of Object.entries(parts[index] ?? {})) if (list.length > 0) Object.assign(container, { [field]: list })
  }
  const presetAnnotations = presets.map(({ metadata }) => [`${prefix}/podpreset-${metadata?.name}`, metadata?.resourceVersion ?? ''])
  pod.metadata.annotations = { ...pod.metadata.annotations, ...Object.fromEntries(presetAnnotations) }
}

const envFromKey = ({ prefix: start = '', configMapRef, secretRef }: V1EnvFromSource): string =>
  JSON.stringify([start, configMapRef?.name, secretRef?.name])

function merged<T>(
  own: readonly T[] = [],
  added: readonly (readonly T[] | undefined)[],
  keyOf: (item: T) => string,
  same: Equality<T[] | undefined>,
): T[] {
  const byKey = new Map(own.map((item) => [keyOf(item), item]))
  const all = [...own]
  for (const item of added.flatMap((list) => list ?? [])) {
    const known = byKey.get(keyOf(item))
    if (known === undefined) {
      byKey.set(keyOf(item), item)
      all.push(item)
    } else if (!same.each(known as never, item as never)) throw new Contradiction(`${keyOf(item)} is there already, and different`)
  }
  return all
}
