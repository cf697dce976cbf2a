/** Fills in what the author of a pod spec left out. */
import type { V1PodSpec, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'

export function defaultPodSpec(spec: V1PodSpec): void {
  spec.restartPolicy ||= 'Always'
}

export function defaultPodTemplate(template: V1PodTemplateSpec): void {
  defaultPodSpec((template.spec ??= { containers: [] }))
}
