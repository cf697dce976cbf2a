/** Patches: merged by what is known of the kind, or lists of operations. */

import { resolve } from 'node:path'
import { parseJson } from '#api/codec/parse-json.ts'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { everyIdentity, type Item, identityOf, identityText, itemOf, rememberIdentity, sameIdentity } from './item.ts'
import type { PatchEntry } from './kustomization.ts'
import type { MergeForms } from './merge-form.ts'
import { mergedByPatch } from './merge-patch.ts'
import { isPatchTarget } from './selectors.ts'

export type Patching = { host: Host; directory: string; forms: MergeForms }

export async function patched(patching: Patching, entries: readonly PatchEntry[], items: readonly Item[]): Promise<Item[]> {
  let result = [...items]
  for (const entry of entries) result = applied(patching, result, await readPatch(patching, entry), entry)
  return result
}

/** `patchesStrategicMerge`: paths, or patches themselves. */
export async function mergePatched(patching: Patching, texts: readonly string[], items: readonly Item[]): Promise<Item[]> {
  const entries = texts.map((text) => (/\n|^\s*[{]/.test(text) ? { patch: text } : { path: text }))
  return patched(patching, entries, items)
}

type ReadPatch = { values: unknown[]; source: string }

async function readPatch({ host, directory }: Patching, entry: PatchEntry): Promise<ReadPatch> {
  const { path, patch } = entry
  if (!patch && !path) throw new CliError('must specify one of patch and path')
  if (patch && path) throw new CliError("patch and path can't be set at the same time")
  const text = patch?.trim() ?? (await host.files.readText(resolve(directory, path ?? '')))
  const source = patch ? `[patch: ${JSON.stringify(text)}]` : `[path: ${JSON.stringify(path)}]`
  return { values: parsedPatch(text, source, entry), source }
}

/** A list in brackets is JSON, and no YAML. */
function parsedPatch(text: string, source: string, entry: PatchEntry): unknown[] {
  try {
    return text.startsWith('[') ? [parseJson(text)] : readYamlValues(text).map(({ value }) => value)
  } catch {
    throw new CliError(
      `trouble configuring builtin PatchTransformer with config: \`\n${yamlText(entry)}\`: unable to parse SM or JSON patch from ${source}`,
    )
  }
}

function applied({ forms }: Patching, items: readonly Item[], { values, source }: ReadPatch, { target, options }: PatchEntry): Item[] {
  const [first] = values
  if (Array.isArray(first)) {
    if (target === undefined) throw new CliError(`must specify a target for JSON patch ${source}`)
    for (const item of items) {
      if (!isPatchTarget(item, target)) continue
      rememberIdentity(item)
      item.object = applyPatch('json', item.object, first) as ApiObject
    }
    return [...items]
  }
  if (target !== undefined && values.length > 1)
    throw new CliError(
      `Multiple Strategic-Merge Patches in one \`patches\` entry is not allowed to set \`patches.target\` field: ${source}`,
    )
  let result = [...items]
  for (const value of values as ApiObject[]) {
    // Who names a target may say anything of the kind.
    const { apiVersion: _apiVersion, ...anyKind } = value
    const patch = target === undefined ? value : anyKind
    const chosen = new Set(target === undefined ? [namedBy(items, value)] : items.filter((item) => isPatchTarget(item, target)))
    result = result.filter((item) => !chosen.has(item) || mergeInto(item, patch, forms, options))
  }
  return result
}

/** False: nothing of it is left. */
function mergeInto(item: Item, patch: ApiObject, forms: MergeForms, { allowNameChange = false, allowKindChange = false } = {}): boolean {
  const { name, namespace } = item.object.metadata ?? {}
  const { kind } = item.object
  if (allowNameChange || allowKindChange) rememberIdentity(item)
  const merged = mergedByPatch(item.object, patch, forms(identityOf(item))) as ApiObject | undefined
  if (merged === undefined) return false
  const metadata = { ...merged.metadata }
  if (!allowNameChange && name !== undefined) metadata.name = name
  if (namespace === undefined) delete metadata.namespace
  else metadata.namespace = namespace
  item.object = { ...merged, metadata, ...(allowKindChange || kind === undefined ? {} : { kind }) }
  return true
}

/** The one object that a patch without a target speaks of. */
function namedBy(items: readonly Item[], patch: ApiObject): Item {
  const meant = identityOf(itemOf(patch))
  const found = items.filter((item) => everyIdentity(item).some((identity) => sameIdentity(identity, meant)))
  const [only] = found
  const text = identityText(meant)
  const failure =
    found.length === 0
      ? `no matches for Id ${text}; failed to find unique target for patch ${text}`
      : `multiple matches for Id ${text}; failed to find unique target for patch ${text}`
  if (only === undefined || found.length > 1) throw new CliError(`no resource matches strategic merge patch "${text}": ${failure}`)
  return only
}
