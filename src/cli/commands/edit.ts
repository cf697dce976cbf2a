/** `kubectl edit`, `kubectl create --edit` and `kubectl apply edit-last-applied`: objects through the user's editor. */
import { join } from 'node:path'
import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, errorText, PlainError } from '#cli/cli-error.ts'
import { namePrinter, resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { patchBetween } from '#cli/rollout/pod-template.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { sortedKeys } from '#cli/template/go-values.ts'
import { lastAppliedName, lastAppliedOf, withLastApplied, writeQuery } from '#cli/write-options.ts'

const headline = `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`

/** Tries again with what went wrong at the top, until it is accepted or left as it was. What was typed is never lost. */
async function edited(
  call: Call,
  objects: readonly ApiObject[],
  subject: string,
  accept: (objects: ApiObject[]) => Promise<void>,
): Promise<void> {
  const { host, flags } = call
  const format = flags.has('output') && flags.text('output') === 'json' ? 'json' : 'yaml'
  const directory = await host.files.temporaryDirectory('kubectl-edit-')
  const path = join(directory, `edit.${format}`)
  const [only] = objects
  const whole = objects.length === 1 && only !== undefined ? only : { apiVersion: 'v1', items: objects, kind: 'List', metadata: {} }
  const original = format === 'json' ? `${jsonText(sortedKeys(whole), 4)}\n` : yamlText(whole)
  let text = original
  let problem = ''
  const kept = (message: string): CliError => {
    host.complain(`A copy of your changes has been stored to ${JSON.stringify(path)}\n`)
    return new CliError(message)
  }
  for (;;) {
    await host.files.write(path, `${format === 'json' ? '' : `${headline}${problem}`}${text}`)
    runEditor(call, path)
    const now = (await host.files.readText(path)).replace(/^#.*\n?/gm, '')
    if (problem !== '' && now === text) throw kept('Edit cancelled, no valid changes were saved.')
    text = now
    let read: ApiObject[]
    try {
      read = readYamlValues(now).map(({ value }) => value as ApiObject)
      if (read.length === 0) throw new Error('EOF')
    } catch (error) {
      problem = reasonLines(`The edited file failed validation: ${(error as Error).message}`)
      host.complain(`error: ${subject} is invalid\n`)
      continue
    }
    if (equalJson(read.length === 1 ? read[0] : read, whole)) {
      host.complain('Edit cancelled, no changes made.\n')
      break
    }
    try {
      await accept(read.flatMap((each) => (each.kind === 'List' ? ((each['items'] as ApiObject[] | undefined) ?? []) : [each])))
      break
    } catch (error) {
      if (!(error instanceof ApiError)) throw error instanceof CliError ? kept(error.message) : error
      if (error.status.reason !== 'Invalid' && error.status.reason !== 'BadRequest') {
        host.complain(errorText(error))
        host.complain(`You can run \`kubectl replace -f ${path}\` to try this update again.\n`)
        throw new PlainError('', 1)
      }
      problem = reasonLines(`${subject} was not valid:\n* ${error.message}`)
      host.complain(`error: ${subject} is invalid\n`)
    }
  }
  await host.files.remove(directory)
}

const reasonLines = (message: string): string =>
  `${message
    .split('\n')
    .map((line) => `# ${line}\n`)
    .join('')}#\n`

function runEditor({ host }: Call, path: string): void {
  const editor = host.environment['KUBE_EDITOR'] || host.environment['EDITOR'] || 'vi'
  let code = 1
  try {
    // The user's words may hold flags and quotes, as in a shell.
    code = /[\s"']/.test(editor)
      ? host.terminal.hand('/bin/sh', ['-c', `${editor} ${JSON.stringify(path)}`])
      : host.terminal.hand(editor, [path])
  } catch {
    if (!editor.includes('/')) throw new CliError(`unable to launch the editor ${JSON.stringify(editor)}`)
  }
  if (code !== 0) throw new CliError(`there was a problem with the editor ${JSON.stringify(editor)}`)
}

const subjectOf = ({ type, name }: Info): string =>
  `${type.group === '' ? type.plural : `${type.plural}.${type.group}`} ${JSON.stringify(name)}`

export async function edit(call: Call): Promise<void> {
  const { host, flags, session } = call
  const printer = await resultPrinter(call, 'edited', '', ['json', 'kyaml', 'yaml'])
  const { infos } = await findInfos(call)
  const [first] = infos
  if (first === undefined) throw new CliError('edit cancelled, no objects found')
  const rest = await session.rest
  const subresource = flags.has('subresource') ? flags.text('subresource') : ''
  if (subresource !== '') for (const info of infos) info.object = await rest.json<ApiObject>({ path: infoPath(info, subresource) })
  const originals = infos.map(({ object }) => withoutManagers(object))
  await edited(call, originals, subjectOf(first), async (objects) => {
    for (const object of objects) {
      const info = infos.find((each) => each.type.kind === object.kind && each.name === object.metadata?.name)
      if (info === undefined) throw new CliError('At least one of apiVersion, kind and name was changed')
      const before = withoutManagers(info.object)
      const wanted = flags.isOn('save-config') ? withLastApplied(object) : object
      const patch = patchBetween(info, before, wanted)
      if (patch === undefined || equalJson(before, wanted)) {
        host.write(namePrinter({ operation: 'skipped' })(info.object))
        continue
      }
      const query = { fieldManager: flags.text('field-manager'), fieldValidation: writeQuery(call, 'none')['fieldValidation'] }
      if (flags.isOn('output-patch')) host.write(`Patch: ${JSON.stringify(patch.body)}\n`)
      info.object = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info, subresource),
        contentType: patch.contentType,
        query,
        body: patch.body,
      })
      host.write(printer(info.object))
    }
  })
}

function withoutManagers(object: ApiObject): ApiObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata ?? {}
  return { ...object, metadata }
}

export async function editAndCreate(call: Call): Promise<void> {
  const { flags, host, session } = call
  const infos = await readManifestsStrictly(call)
  const rest = await session.rest
  // One after another, as they would be created.
  for (const info of infos)
    await edited(call, [info.object], subjectOf(info), async (objects) => {
      for (const object of objects) {
        const body = flags.isOn('save-config') ? withLastApplied(object) : object
        const made = await rest.json<ApiObject>({
          method: 'POST',
          path: resourcePath(info.type, object.metadata?.namespace ?? info.namespace),
          query: writeQuery(call, 'none'),
          body,
        })
        host.write((await resultPrinter(call, 'created'))(made))
      }
    })
}

export async function editLastApplied(call: Call): Promise<void> {
  const { host, session } = call
  const { infos } = await findInfos(call)
  const rest = await session.rest
  const members = infos.filter(({ object }) => lastAppliedOf(object) !== undefined)
  const [first] = members
  if (first === undefined)
    throw new CliError(
      'no last-applied-configuration annotation found on resources, to create the annotation, use command `kubectl apply set-last-applied --create-annotation`',
    )
  const applied = members.map(({ object }) => JSON.parse(lastAppliedOf(object) ?? '{}') as ApiObject)
  await edited(call, applied, subjectOf(first), async (objects) => {
    for (const [index, object] of objects.entries()) {
      const info = members[index] as Info
      const annotation = lastAppliedOf(withLastApplied(object)) ?? ''
      info.object = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: 'application/merge-patch+json',
        query: writeQuery(call, 'none'),
        body: { metadata: { annotations: { [lastAppliedName]: annotation } } },
      })
      host.write((await resultPrinter(call, 'edited'))(info.object))
    }
  })
}
