import type { V1SelectableField } from '#api/apiextensions/v1/types.gen.ts'
import { parseJsonPath } from '#api/meta/json-path.ts'
import { goPrint } from '#api/meta/patch/go-print.ts'
import type { KubernetesObject } from '#api/resource.ts'

type Readers = Record<string, (object: KubernetesObject) => string>

/** Field selectors a definition allows, by name: `spec.color`. */
export function selectableFields(fields: readonly V1SelectableField[] | undefined): Readers {
  const readers: Readers = {}
  for (const { jsonPath } of fields ?? []) {
    const path = parseJsonPath(jsonPath)
    readers[jsonPath.replace(/^\./, '')] = (object) => {
      const value = path(object)[0]
      return value === undefined || value === null ? '' : goPrint(value)
    }
  }
  return readers
}
