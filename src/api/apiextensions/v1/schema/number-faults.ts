/** What is wrong with a number: the range of its type, and the bounds its schema sets. */

import { type Fault, invalidFault, unplacedFault } from '#api/apiextensions/v1/schema/fault.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { append } from '#base/append.ts'

type Schema = V1JSONSchemaProps

/** Integers may be too large for a number: bounds are compared as they are, all else by the nearest number. */
export function numberFaults(given: number | bigint, schema: Schema, path: string): Fault[] {
  const { multipleOf, minimum, maximum } = schema
  const value = Number(given)
  const faults = typeof given === 'bigint' ? largeFaults(schema, path) : rangeFaults(value, 'Checked', schema, path)
  if (multipleOf != null) {
    const range = rangeFaults(multipleOf, 'MultipleOf', schema, path)
    append(faults, range)
    const factor = range.length === 0 && Number.isInteger(value) ? Math.trunc(multipleOf) : multipleOf
    if (factor <= 0) {
      faults.push(invalidFault(path, factor, `factor MultipleOf declared for ${path} must be positive: ${factor}`))
    } else if (!isMultiple(value, factor)) {
      faults.push(invalidFault(path, value, `${path} in body should be a multiple of ${factor}`))
    }
  }
  if (minimum != null) append(faults, boundFaults(value, minimum, 'Minimum', schema, path))
  if (maximum != null) append(faults, boundFaults(value, maximum, 'Maximum', schema, path))
  return faults
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = factor < 1 ? (1 / factor) * value : value / factor
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))
}

function boundFaults(value: number, limit: number, bound: 'Minimum' | 'Maximum', schema: Schema, path: string): Fault[] {
  const faults = rangeFaults(limit, `${bound} boundary`, schema, path)
  const shown = faults.length === 0 && Number.isInteger(value) ? Math.trunc(limit) : limit
  const isExclusive = (bound === 'Minimum' ? schema.exclusiveMinimum : schema.exclusiveMaximum) === true
  const distance = bound === 'Minimum' ? value - shown : shown - value
  if (isExclusive ? distance > 0 : distance >= 0) return faults
  const relation = `${bound === 'Minimum' ? 'greater' : 'less'} than${isExclusive ? '' : ' or equal to'}`
  return [...faults, invalidFault(path, value, `${path} in body should be ${relation} ${shown}`)]
}

const maxFloat32 = 3.4028234663852886e38

/** Upstream reads the number again, as its type and format say. */
function rangeFaults(value: number, what: string, { type, format }: Schema, path: string): Fault[] {
  if (type === 'number' && format === 'float' && Math.abs(value) > maxFloat32) {
    return [unplacedFault(`${what} value must be of type number with format float in ${path}`)]
  }
  if (type !== 'integer' || fitsInteger(value, format)) return []
  const known = format === 'int32' || format === 'int64' ? `with format ${format}` : '(default format)'
  return [unplacedFault(`${what} value must be of type integer ${known} in ${path}`)]
}

/** It fits into 64 bits. */
function largeFaults({ type, format }: Schema, path: string): Fault[] {
  if (type !== 'integer' || format !== 'int32') return []
  return [unplacedFault(`Checked value must be of type integer with format ${format} in ${path}`)]
}

function fitsInteger(value: number, format: string | undefined): boolean {
  if (!Number.isInteger(value)) return false
  const limit = format === 'int32' ? 2 ** 31 : 2 ** 63
  return value >= -limit && value < limit
}
