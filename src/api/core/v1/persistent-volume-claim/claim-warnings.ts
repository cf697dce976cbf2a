/** What a claim asks for that cannot be meant. */
import { hasWholeMillis } from '#api/core/v1/quantities.ts'
import type { V1PersistentVolumeClaimSpec } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

/** `path` is that of the spec, which may stand in a template. */
export function claimSpecWarnings(spec: V1PersistentVolumeClaimSpec | undefined, path: string): string[] {
  const warnings: string[] = []
  for (const list of ['requests', 'limits'] as const) {
    const size = spec?.resources?.[list]?.['storage']
    if (size === undefined || hasWholeMillis(size)) continue
    const shown = quoted(parseQuantity(size).toString())
    warnings.push(`${path}.resources.${list}[storage]: fractional byte value ${shown} is invalid, must be an integer`)
  }
  return warnings
}
