/** What a pod template uses that works but should not be used: sentences for the Warning header. */
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'

/** `path` is where the template sits: `spec.template`. With `prev`, what was already there is not warned of again. */
export function podTemplateWarnings(_template: V1PodTemplateSpec, _prev?: V1PodTemplateSpec, _path = 'template'): string[] {
  return []
}
