import { defaultVolume } from '#api/core/v1/pod-spec/default-volume.ts'
import { validateEnv, validateEnvFrom } from '#api/core/v1/pod-spec/validate-env.ts'
import { podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { validateVolumeMounts } from '#api/core/v1/pod-spec/validate-volume-mounts.ts'
import { validateVolumes } from '#api/core/v1/pod-spec/validate-volumes.ts'
import type { V1EnvFromSource, V1EnvVar, V1Volume, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import type { NamespacedKind } from '#api/kind.ts'
import type { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { putBack } from '#api/meta/put-back.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { writeTypes } from '#api/schema/written-types.ts'

export type V1alpha1PodPreset = {
  kind?: string
  apiVersion?: string
  metadata: V1ObjectMeta
  spec: V1alpha1PodPresetSpec
}

export type V1alpha1PodPresetSpec = {
  selector?: V1LabelSelector
  env?: V1EnvVar[]
  envFrom?: V1EnvFromSource[]
  volumes?: V1Volume[]
  volumeMounts?: V1VolumeMount[]
}

const typeName = writeTypes({
  package: 'io.k8s.api.settings.v1alpha1',
  group: 'settings.k8s.io',
  version: 'v1alpha1',
  text: `
kind PodPreset
  spec Spec @.PodPresetSpec o 2
PodPresetSpec
  selector Selector @meta.LabelSelector o 1
  env Env [@core.EnvVar o 2
  envFrom EnvFrom [@core.EnvFromSource o 3
  volumes Volumes [@core.Volume o 4
  volumeMounts VolumeMounts [@core.VolumeMount o 5
`,
})

/** What pods with certain labels get at creation: variables, volumes and mounts. Never changes once made. */
export const PodPreset: NamespacedKind<V1alpha1PodPreset> = {
  group: 'settings.k8s.io',
  version: 'v1alpha1',
  kind: 'PodPreset',
  plural: 'podpresets',
  scope: 'Namespaced',
  schema: typeName('PodPreset'),
  stability: 'legacy',
}

export const podPresetResource = defineResource(PodPreset, {
  deprecated: { deprecatedIn: '1.20', removedIn: '1.20' },
  generation: false,
  allowUnconditionalUpdate: true,

  defaults(preset) {
    preset.spec ??= {}
    for (const volume of preset.spec.volumes ?? []) defaultVolume(volume)
    for (const { valueFrom } of preset.spec.env ?? []) if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1'
  },
  prepareForCreate({ metadata }) {
    metadata.generation = 1
  },
  prepareForUpdate: (next, prev) => putBack(next, prev, 'spec'),
  validate: (_object, check, context) => validateSpec(check.at('spec'), context),
  validateUpdate: (_next, _prev, check, context) => validateSpec(check.at('spec'), context),
})

function validateSpec(check: Check<V1alpha1PodPresetSpec>, context: RuleContext): void {
  const spec = check.value
  const { env, envFrom, volumes, volumeMounts } = spec
  const options = podValidationOptions(undefined, undefined, context)
  validateLabelSelector(check.at('selector'))
  if (!env && !envFrom && !volumes && !volumeMounts) {
    check.at('volumes').dynamic('env').dynamic('envFrom').dynamic('volumeMounts').required('must specify at least one')
  }
  const known = validateVolumes(check.at('volumes').or([]), undefined, options)
  validateEnv(check.at('env').or([]), options)
  validateEnvFrom(check.at('envFrom').or([]))
  if (volumeMounts) validateVolumeMounts({ name: '', volumeMounts }, known, check.at('volumeMounts'))
}
