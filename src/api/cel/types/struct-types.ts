import type { CelType } from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'

/** A type with these fields and no others. */
export function structType(name: string, fields: Readonly<Record<string, CelType>>): StructType {
  const known = new Map(Object.entries(fields))
  return { name, field: (field) => known.get(field) }
}
