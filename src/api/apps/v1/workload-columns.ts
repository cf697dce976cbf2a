/** Columns that tables of workloads share; all are for `-o wide`. */
import { containerImagesCell, containerNamesCell } from '#api/core/v1/pod-spec/columns.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { labelSelectorText } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { Column } from '#api/resource.ts'

export function containersColumn<T>(podSpec: (object: T) => V1PodSpec | undefined): Column<T> {
  return {
    name: 'Containers',
    type: 'string',
    priority: 1,
    description: 'Names of each container in the template.',
    cell: (object) => containerNamesCell(podSpec(object)),
  }
}

export function imagesColumn<T>(podSpec: (object: T) => V1PodSpec | undefined): Column<T> {
  return {
    name: 'Images',
    type: 'string',
    priority: 1,
    description: 'Images referenced by each container in the template.',
    cell: (object) => containerImagesCell(podSpec(object)),
  }
}

/** `field` is the one whose description the column has. */
export function selectorColumn<T>(field: string, selector: (object: T) => V1LabelSelector | undefined): Column<T> {
  return { name: 'Selector', type: 'string', priority: 1, description: { field }, cell: (object) => labelSelectorText(selector(object)) }
}
