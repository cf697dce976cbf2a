/** Objects as rows of their kind's table, the form kubectl prints. */

import { defaultColumns } from '#api/meta/columns.ts'
import type { Column, KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { describe } from '#api/schema/describe.ts'
import { columnTexts } from '#apiserver/http/column-texts.ts'

export type IncludeObject = 'None' | 'Metadata' | 'Object'

export function columnDefinitions(definition: ResourceDefinition): unknown[] {
  return columnsOf(definition).map(({ name, type, format = '', priority = 0, description }) => ({
    name,
    type,
    format,
    description: typeof description === 'string' ? description : describeField(description.field),
    priority,
  }))
}

function columnsOf(definition: ResourceDefinition): readonly Column<KubernetesObject>[] {
  // A version that is stored as another one shows what that one shows.
  return definition.columns ?? definition.storedAs?.definition.columns ?? defaultColumns
}

function describeField(reference: string): string {
  const dot = reference.lastIndexOf('.')
  return columnTexts[reference] ?? describe(reference.slice(0, dot), reference.slice(dot + 1))
}

/** `shown` gives the object in the served version. */
export function tableRow(
  definition: ResourceDefinition,
  stored: KubernetesObject,
  shown: () => KubernetesObject,
  options: { nowMs: number; include: IncludeObject; metaVersion: string },
): unknown {
  const cells = columnsOf(definition).map((column) => column.cell(stored, options))
  const conditions = definition.rowConditions?.(stored) ?? []
  const row = conditions.length === 0 ? { cells } : { cells, conditions }
  if (options.include === 'None') return { ...row, object: null }
  // The metadata is the stored object's: what a conversion adds to it does not show in tables.
  return { ...row, object: options.include === 'Object' ? shown() : partialMetadata(definition, stored, options.metaVersion) }
}

/** Kind and metadata alone. */
export function partialMetadata(definition: ResourceDefinition, object: KubernetesObject, metaVersion: string): KubernetesObject {
  const { derivedAnnotations } = definition.storedAs?.definition ?? definition
  const metadata = derivedAnnotations === undefined ? object.metadata : withoutAnnotations(object.metadata, derivedAnnotations)
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${metaVersion}`, metadata: metadata ?? {} }
}

function withoutAnnotations(metadata: KubernetesObject['metadata'], names: readonly string[]): KubernetesObject['metadata'] {
  if (metadata?.annotations === undefined) return metadata
  const { annotations, ...rest } = metadata
  const left = Object.entries(annotations).filter(([name]) => !names.includes(name))
  return left.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(left) }
}
