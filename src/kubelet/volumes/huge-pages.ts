import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

const resourcePrefix = 'hugepages-'

export const isHugePageMedium = (medium: string): boolean => medium === 'HugePages' || medium.startsWith('HugePages-')

/** The size of pages for a volume of this medium: the one it names, or the only one that containers ask for. Throws in upstream's words. */
export function pageSizeBytes(medium: string, { spec }: V1Pod): number {
  const lists = [spec.resources, ...[...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources)]
  const names = lists.flatMap((resources) => Object.keys(resources?.requests ?? {})).filter((name) => name.startsWith(resourcePrefix))
  const requested = new Set(names.map((name) => parseQuantity(name.slice(resourcePrefix.length)).value()))
  if (medium === 'HugePages' && requested.size > 1) {
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`)
  }
  const wanted = medium === 'HugePages' ? [...requested][0] : parseQuantity(medium.slice('HugePages-'.length)).value()
  if (wanted === undefined || !requested.has(wanted)) {
    throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`)
  }
  return wanted
}
