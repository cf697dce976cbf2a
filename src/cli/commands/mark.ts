/** `kubectl label` and `kubectl annotate` */

import { labelValue } from '#api/meta/names.ts'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { createMergePatch } from '#api/meta/patch/merge-patch.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, ManyErrors, throwAll } from '#cli/cli-error.ts'
import { printerFor, resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

type Marks = { what: 'label' | 'annotation'; field: 'labels' | 'annotations'; set: Record<string, string>; remove: string[] }

export const label = (call: Call): Promise<void> => mark(call, 'label')
export const annotate = (call: Call): Promise<void> => mark(call, 'annotation')

async function mark(call: Call, what: Marks['what']): Promise<void> {
  const { flags, host, args } = call
  const dryRun = dryRunOf(call)
  if (what === 'annotation') await printerFor(call)
  const { resources, pairs } = resourcesAndPairs(args, what)
  const isLocal = flags.isOn('local')
  const isList = flags.isOn('list')
  const marks = marksOf(pairs, what)
  // Annotations are listed whatever the output is to be, which must be one, however.
  if (isList && flags.text('output') !== '' && what === 'label') throw new CliError('--list and --output may not be specified together')
  if (flags.isOn('all') && flags.text('selector') !== '') throw new CliError('cannot set --all and --selector at the same time')
  if (flags.isOn('all') && flags.text('field-selector') !== '') throw new CliError('cannot set --all and --field-selector at the same time')
  const example = what === 'label' ? 'pod' : 'rsrc'
  if (isLocal) {
    if (dryRun === 'server') throw new CliError('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
    if (resources.length > 0)
      throw new CliError(`can only use local files by -f ${example}.yaml or --filename=${example}.json when --local=true is set`)
    if (!hasManifests(call)) throw new CliError(`one or more files must be specified as -f ${example}.yaml or --filename=${example}.json`)
  } else if (resources.length < 1 && !hasManifests(call))
    throw new CliError('one or more resources must be specified as <resource> <name> or <resource>/<name>')
  if (pairs.length === 0 && !isList) throw new CliError(`at least one ${what} update is required`)
  checkBoth(marks)
  const { infos, errors } = isLocal
    ? { infos: await readManifestsStrictly(call, { isLocal }), errors: [] }
    : await findInfos(call, { args: resources })
  if (infos.length !== 1 && flags.text('resource-version') !== '')
    throw new CliError('--resource-version may only be used with a single resource')
  for (const info of infos) {
    try {
      if (isList) listMarks(call, changed(call, info.object, marks).object, info, marks, infos.length === 1)
      else {
        const { object, operation } = await change(call, info, marks, isLocal || dryRun === 'client')
        host.write((await resultPrinter(call, operation, dryRunSuffix(dryRun)))(object))
      }
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

/** Arguments before the first change are resources. */
export function resourcesAndPairs(
  args: readonly string[],
  what: string,
  { readsInput = false }: { readsInput?: boolean } = {},
): { resources: string[]; pairs: string[] } {
  const resources: string[] = []
  const pairs: string[] = []
  for (const arg of args) {
    const isPair = (arg.includes('=') && arg[0] !== '=') || (arg.endsWith('-') && (arg !== '-' || readsInput))
    if (isPair) pairs.push(arg)
    else if (pairs.length > 0) throw new CliError(`all resources must be specified before ${what} changes: ${arg}`)
    else resources.push(arg)
  }
  return { resources, pairs }
}

function marksOf(pairs: readonly string[], what: Marks['what']): Marks {
  const set: Record<string, string> = {}
  const remove: string[] = []
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    if (equals > 0) {
      const value = pair.slice(equals + 1)
      if (what === 'label' && value.includes('=')) throw new CliError(`invalid label spec: ${pair}`)
      const problems = what === 'label' ? labelValue(value) : []
      if (problems.length > 0) throw new CliError(`invalid label value: ${JSON.stringify(pair)}: ${problems.join(';')}`)
      set[pair.slice(0, equals)] = value
    } else remove.push(pair.slice(0, -1))
  }
  const marks: Marks = { what, field: what === 'label' ? 'labels' : 'annotations', set, remove }
  if (what === 'label') checkBoth(marks)
  return marks
}

function checkBoth({ what, set, remove }: Marks): void {
  const both = remove.filter((key) => Object.hasOwn(set, key))
  if (both.length > 0)
    throw new CliError(
      what === 'label'
        ? 'can not both modify and remove a label in the same command'
        : `can not both modify and remove the following annotation(s) in the same command: ${both.join(', ')}`,
    )
}

function listMarks({ host }: Call, object: ApiObject, { type, name }: Info, { what, field }: Marks, isSingle: boolean): void {
  if (!isSingle) host.write(`Listing ${what}s for ${type.kind}.${type.group}/${name}:\n`)
  for (const [key, value] of Object.entries(object.metadata?.[field] ?? {})) host.write(`${isSingle ? '' : ' '}${key}=${value}\n`)
}

/** The object with the marks, and what has been done to it; nothing is sent. */
function changed({ flags }: Call, before: ApiObject, marks: Marks): { object: ApiObject; operation: string } {
  const { what, field, set, remove } = marks
  const current = before.metadata?.[field] ?? {}
  if (!flags.isOn('overwrite')) checkOverwrites(marks, current)
  const next: Record<string, string> = { ...current, ...set }
  for (const key of remove) delete next[key]
  const metadata = { ...before.metadata, [field]: next, ...omitEmpty({ resourceVersion: flags.text('resource-version') }) }
  const isAdded = Object.entries(set).some(([key, value]) => current[key] !== value)
  const isRemoved = remove.some((key) => Object.hasOwn(current, key))
  const labelling = isAdded ? (isRemoved ? 'modified' : 'labeled') : isRemoved ? 'unlabeled' : 'not labeled'
  return { object: { ...before, metadata }, operation: what === 'annotation' ? 'annotated' : labelling }
}

async function change(call: Call, info: Info, marks: Marks, isDry: boolean): Promise<{ object: ApiObject; operation: string }> {
  const { flags, host, session } = call
  const { what, field, remove } = marks
  const before = info.object
  const current = before.metadata?.[field] ?? {}
  if (what === 'label' && !isDry)
    for (const key of remove) if (!Object.hasOwn(current, key)) host.write(`label ${JSON.stringify(key)} not found.\n`)
  const { object, operation } = changed(call, before, marks)
  if (isDry || operation === 'not labeled') return { object, operation }
  const isVersionGiven = flags.text('resource-version') !== ''
  const base = isVersionGiven ? { ...before, metadata: { ...before.metadata, resourceVersion: '' } } : before
  const patch = createMergePatch(base as JsonObject, object as JsonObject)
  const rest = await session.rest
  const dryRun = dryRunOf(call)
  const query = { fieldManager: flags.text('field-manager'), dryRun: dryRun === 'server' ? 'All' : undefined }
  return {
    object: await rest.json<ApiObject>({
      method: 'PATCH',
      path: infoPath(info),
      contentType: 'application/merge-patch+json',
      query,
      body: patch,
    }),
    operation,
  }
}

function checkOverwrites({ what, set }: Marks, current: Readonly<Record<string, string>>): void {
  const taken = Object.entries(set).filter(
    ([key, value]) => Object.hasOwn(current, key) && current[key] !== value && key !== 'kubernetes.io/change-cause',
  )
  if (taken.length === 0) return
  const texts = taken.map(([key]) => `'${key}' already has a value (${current[key]})`)
  if (what === 'annotation') throw new CliError(`--overwrite is false but found the following declared annotation(s): ${texts.join('; ')}`)
  throw new ManyErrors(texts.map((text) => new CliError(`${text}, and --overwrite is false`)))
}
