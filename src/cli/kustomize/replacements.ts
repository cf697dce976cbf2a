/** Values of one object put into others. */

import { resolve } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { sorted } from '#api/structural/sorted-json.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { fieldPath, placesAt, valueAt } from './field-path.ts'
import type { Place } from './field-spec.ts'
import type { Item } from './item.ts'
import type { FieldOptions, ReplacementEntry, Target } from './kustomization.ts'
import { isRejected, isReplacementTarget, isSource } from './selectors.ts'

export async function replaced(
  host: Host,
  directory: string,
  replacements: readonly ReplacementEntry[],
  items: readonly Item[],
): Promise<void> {
  for (const entry of replacements) {
    const read =
      entry.path === undefined
        ? [entry]
        : readYamlValues(await host.files.readText(resolve(directory, entry.path))).flatMap(
            ({ value }) => value as ReplacementEntry | ReplacementEntry[],
          )
    for (const each of read) replace(each, items)
  }
}

function replace({ source, sourceValue, targets }: ReplacementEntry, items: readonly Item[]): void {
  if ((source === undefined && sourceValue === undefined) || targets === undefined)
    throw new CliError('replacements must specify a source and at least one target')
  if (source !== undefined && sourceValue !== undefined) throw new CliError('value and resource selectors are mutually exclusive')
  const value = source === undefined ? sourceValue : sourceOf(source, items)
  for (const { select, reject = [], fieldPaths = [], options = {} } of targets) {
    if (select === undefined) throw new CliError('target must specify resources to select')
    for (const item of items) {
      if (!isReplacementTarget(item, select) || reject.some((each) => isRejected(item, each))) continue
      for (const path of fieldPaths.length === 0 ? ['metadata.name'] : fieldPaths) putInto(item, path, value, options)
    }
  }
}

function putInto({ object }: Item, path: string, value: unknown, options: FieldOptions): void {
  const parts = fieldPath(path)
  const { create = false } = options
  if (putIntoText(object, parts, value, create)) return
  const places = placesAt(object, parts, create ? emptyLike(value) : undefined)
  if (places.length === 0)
    throw new CliError(`unable to find ${create ? 'or create ' : ''}field ${JSON.stringify(path)} in replacement target`)
  for (const place of places) setValue(place, value, options)
}

const emptyLike = (value: unknown): unknown => (Array.isArray(value) ? [] : typeof value === 'object' ? {} : '')

function setValue({ holder, key }: Place, value: unknown, { delimiter, index = 0 }: FieldOptions): void {
  const before = holder[key]
  const isPlain = typeof before !== 'object' || before === null
  if (delimiter !== undefined && delimiter !== '') {
    if (!isPlain) throw new CliError('delimiter option can only be used with scalar nodes')
    holder[key] = withPart(String(before), delimiter, index, String(value))
  } else holder[key] = isPlain ? likeBefore(before, value) : structuredClone(value)
}

/** A text stays one even if a number is put into it, and a number is one if what is put there looks like it. */
function likeBefore(before: unknown, value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return structuredClone(value)
  if (typeof before === 'string' && before !== '') return String(value)
  if (typeof before !== 'string' && typeof value === 'string') return readYamlValues(value)[0]?.value ?? value
  return value
}

/** A field may hold JSON or YAML as text, which the rest of the path then leads into. */
function putIntoText(object: unknown, path: readonly string[], value: unknown, create: boolean): boolean {
  for (let length = 1; length < path.length; length++) {
    let places: Place[]
    try {
      places = placesAt(object, path.slice(0, length))
    } catch {
      return false
    }
    const [place] = places
    const text = place?.holder[place.key]
    if (place === undefined || places.length > 1 || typeof text !== 'string') continue
    const parsed = structureIn(text)
    const inside = parsed === undefined ? [] : placesAt(parsed, path.slice(length), create ? emptyLike(value) : undefined)
    if (inside.length === 0) return false
    for (const each of inside) setValue(each, value, {})
    place.holder[place.key] = /^\s*[[{]/.test(text)
      ? text.includes('\n') && text.includes('  ')
        ? JSON.stringify(sorted(parsed), null, 2)
        : JSON.stringify(sorted(parsed))
      : yamlText(parsed, { keepsOrder: true }).trim()
    return true
  }
  return false
}

function structureIn(text: string): object | undefined {
  try {
    const value = readYamlValues(text)[0]?.value
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function sourceOf(source: NonNullable<ReplacementEntry['source']>, items: readonly Item[]): unknown {
  const { fieldPath: path = 'metadata.name', options, ...target } = source
  const found = items.filter((item) => isSource(item, target))
  if (found.length !== 1)
    throw new CliError(
      `${found.length === 0 ? 'nothing selected by' : 'multiple matches for selector'} ${sourceText(target)}${source.fieldPath ? `:${source.fieldPath}` : ''}`,
    )
  const value = valueAt(found[0]?.object, fieldPath(path))
  if (value === undefined || value === null || value === '')
    throw new CliError(`fieldPath \`${path}\` is missing for replacement source ${sourceText(target)}`)
  if (!options?.delimiter) return value
  if (typeof value === 'object') throw new CliError('delimiter option can only be used with scalar nodes')
  const parts = String(value).split(options.delimiter)
  const { index = 0 } = options
  if (index < 0 || index >= parts.length) throw new CliError(`options.index ${index} is out of bounds for value ${String(value)}`)
  return parts[index]
}

function sourceText({ group, version, kind, name, namespace }: Target): string {
  return `${kind || '[noKind]'}.${version || '[noVer]'}.${group || '[noGrp]'}/${name || '[noName]'}.${namespace || '[noNs]'}`
}

/** An index before the first puts it in front, one after the last at the end. */
function withPart(text: string, delimiter: string, index: number, value: string): string {
  const parts = text.split(delimiter)
  if (index < 0) return [value, ...parts].join(delimiter)
  if (index >= parts.length) return [...parts, value].join(delimiter)
  return parts.with(index, value).join(delimiter)
}
