/** Values of one object put into others. */
import { resolve } from 'node:path'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { fieldPath, type Kustomization, placesAt, type ReplacementEntry } from './kustomization.ts'
import { matches } from './patches.ts'
import type { Item } from './references.ts'

export async function replaced(
  host: Host,
  directory: string,
  { replacements = [] }: Kustomization,
  items: readonly Item[],
): Promise<Item[]> {
  for (const entry of replacements) {
    const read =
      entry.path === undefined
        ? [entry]
        : readYamlValues(await host.files.readText(resolve(directory, entry.path))).flatMap(
            ({ value }) => value as ReplacementEntry | ReplacementEntry[],
          )
    for (const each of read) replace(each, items)
  }
  return [...items]
}

function replace({ source, sourceValue, targets = [] }: ReplacementEntry, items: readonly Item[]): void {
  const value = sourceValue ?? sourceOf(source, items)
  for (const { select, reject = [], fieldPaths = ['metadata.name'], options = {} } of targets) {
    for (const item of items) {
      if (!matches(item, select) || reject.some((each) => matches(item, each))) continue
      for (const path of fieldPaths) {
        for (const { holder, key } of placesAt(item.object, fieldPath(path), { create: options.create ?? false })) {
          const map = holder as Record<string | number, unknown>
          map[key] =
            options.delimiter === undefined ? value : withPart(String(map[key]), options.delimiter, options.index ?? 0, String(value))
        }
      }
    }
  }
}

function sourceOf(source: ReplacementEntry['source'], items: readonly Item[]): unknown {
  if (source === undefined) throw new CliError('replacements must specify a source and at least one target')
  const { fieldPath: path = 'metadata.name', options, ...target } = source
  const found = items.filter((item) => matches(item, target))
  if (found.length !== 1)
    throw new CliError(
      `${found.length === 0 ? 'nothing selected by' : 'multiple matches for selector'} ${target.kind ?? ''}.${target.name ?? ''}`,
    )
  const [place] = placesAt((found[0] as Item).object, fieldPath(path))
  if (place === undefined)
    throw new CliError(`fieldPath \`${path}\` is missing for replacement source ${target.kind ?? ''}.${target.name ?? ''}`)
  const value = (place.holder as Record<string | number, unknown>)[place.key]
  return options?.delimiter === undefined ? value : String(value).split(options.delimiter)[options.index ?? 0]
}

/** An index before the first puts it in front, one after the last at the end. */
function withPart(text: string, delimiter: string, index: number, value: string): string {
  const parts = text.split(delimiter)
  if (index < 0) return [value, ...parts].join(delimiter)
  if (index >= parts.length) return [...parts, value].join(delimiter)
  return parts.with(index, value).join(delimiter)
}
