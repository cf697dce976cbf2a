/** Cells that tables of workloads share. */
import type { V1Container, V1PodSpec } from '#api/core/v1/types.gen.ts'

export function containerNamesCell(spec: V1PodSpec | undefined): string {
  return joined(spec?.containers, (container) => container.name)
}

export function containerImagesCell(spec: V1PodSpec | undefined): string {
  return joined(spec?.containers, (container) => container.image ?? '')
}

function joined(containers: readonly V1Container[] | undefined, of: (container: V1Container) => string): string {
  return (containers ?? []).map(of).join(',')
}
