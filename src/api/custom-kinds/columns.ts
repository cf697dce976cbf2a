/** The columns a definition gives its kind's table. */

import type { V1CustomResourceColumnDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { jsonText } from '#api/codec/json-text.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import { type JsonPath, JsonPathError, parseJsonPath } from '#api/meta/json-path.ts'
import { goPrint } from '#api/meta/patch/go-print.ts'
import type { JsonValue } from '#api/meta/patch/json-value.ts'
import type { Cell, Column, ColumnType, KubernetesObject } from '#api/resource.ts'
import { sorted } from '#api/structural/sorted-json.ts'
import { omitEmpty } from '#base/omit-empty.ts'

type CustomColumn = Column<KubernetesObject>

/** The age where nothing else is said. */
const standardColumns: readonly CustomColumn[] = [nameColumn, { ...ageColumn, type: 'date' }]

export function customColumns(given: readonly V1CustomResourceColumnDefinition[] | undefined): readonly CustomColumn[] {
  if (given === undefined || given.length === 0) return standardColumns
  const columns: CustomColumn[] = [nameColumn]
  for (const { name, type, format, priority, description, jsonPath } of given) {
    const path = readPath(jsonPath)
    // Upstream stops at the first path it cannot read.
    if (path === undefined) break
    columns.push({
      name,
      type: type as ColumnType,
      ...omitEmpty({ format, priority }),
      description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
      cell: (object, { nowMs }) => cellOf(path, object, type, nowMs),
    })
  }
  return columns
}

function readPath(text: string): JsonPath | undefined {
  try {
    return parseJsonPath(text)
  } catch (error) {
    if (error instanceof JsonPathError) return undefined
    throw error
  }
}

function cellOf(path: JsonPath, object: KubernetesObject, type: string, nowMs: number): Cell {
  const value = firstOf(path, object)
  if (value === undefined) return null
  switch (type) {
    case 'string':
      return printed(value)
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? (value as unknown as number) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? ageAt(value, nowMs) : null
    default:
      return null
  }
}

function firstOf(path: JsonPath, object: KubernetesObject): unknown {
  try {
    return path(object)[0]
  } catch (error) {
    if (error instanceof JsonPathError) return undefined
    throw error
  }
}

/** As Go prints it: objects and lists as JSON. */
function printed(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? jsonText(sorted(value)) : goPrint(value as JsonValue)
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

function ageAt(text: string, nowMs: number): string {
  if (text === '' || text === 'null') return '<unknown>'
  const atMs = instant.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(atMs) ? '<invalid>' : humanDuration(nowMs - atMs)
}
