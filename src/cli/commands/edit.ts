/** `kubectl edit`, `kubectl create --edit` and `kubectl apply edit-last-applied`: objects through the user's editor. */
import { join } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError } from '#cli/cli-error.ts'
import { namePrinter, resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { patchBetween } from '#cli/rollout/pod-template.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { lastAppliedName, lastAppliedOf, withLastApplied, writeQuery } from '#cli/write-options.ts'

const headline = `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`

/** Tries again with what went wrong at the top, until it is accepted, left as it was, or emptied. */
async function edited(call: Call, objects: readonly ApiObject[], accept: (objects: ApiObject[]) => Promise<void>): Promise<void> {
  const { host } = call
  const directory = await host.files.temporaryDirectory('kubectl-edit-')
  const path = join(directory, 'edit.yaml')
  const original = objects.map((object) => yamlText(object)).join('---\n')
  let text = original
  let problem = ''
  try {
    for (;;) {
      const shown = `${headline}${problem}${text}`
      await host.files.write(path, shown)
      runEditor(call, path)
      const now = (await host.files.readText(path)).replace(/^#.*\n?/gm, '')
      if (now.trim() === '') {
        host.complain('Edit cancelled, saved file was empty.\n')
        return
      }
      if (now === text) {
        if (problem !== '') throw new CliError('Edit cancelled, no valid changes were saved.')
        host.complain('Edit cancelled, no changes made.\n')
        return
      }
      text = now
      try {
        await accept(readYamlValues(now).map(({ value }) => value as ApiObject))
        return
      } catch (error) {
        if (!(error instanceof ApiError) && !(error as Error).message.startsWith('yaml')) throw error
        problem = `${(error as Error).message
          .split('\n')
          .map((line) => `# ${line}\n`)
          .join('')}#\n`
        host.complain(`error: ${(error as Error).message}\n`)
      }
    }
  } finally {
    await host.files.remove(directory)
  }
}

function runEditor({ host }: Call, path: string): void {
  const editor = host.environment['KUBE_EDITOR'] || host.environment['EDITOR'] || 'vi'
  let code: number
  try {
    // The user's words may hold flags and quotes, as in a shell.
    code = /[\s"']/.test(editor)
      ? host.terminal.hand('/bin/sh', ['-c', `${editor} ${JSON.stringify(path)}`])
      : host.terminal.hand(editor, [path])
  } catch {
    throw new CliError(`unable to launch the editor ${JSON.stringify(editor)}`)
  }
  if (code !== 0) throw new CliError(`there was a problem with the editor ${JSON.stringify(editor)}`)
}

export async function edit(call: Call): Promise<void> {
  const { host, flags, session } = call
  const { infos } = await findInfos(call)
  if (infos.length === 0) throw new CliError('edit cancelled, no objects found')
  const rest = await session.rest
  const subresource = flags.has('subresource') ? flags.text('subresource') : ''
  await edited(
    call,
    infos.map(({ object }) => withoutManagers(object)),
    async (objects) => {
      for (const object of objects) {
        const info = infos.find((each) => each.type.kind === object.kind && each.name === object.metadata?.name)
        if (info === undefined) throw new CliError('At least one of apiVersion, kind and name was changed')
        const before = withoutManagers(info.object)
        const patch = patchBetween(info, before, object)
        if (patch === undefined || equalJson(before, object)) {
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
        host.write((await resultPrinter(call, 'edited'))(info.object))
      }
    },
  )
}

function withoutManagers(object: ApiObject): ApiObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata ?? {}
  return { ...object, metadata }
}

export async function editAndCreate(call: Call): Promise<void> {
  const { flags, host, session } = call
  const infos = await readManifestsStrictly(call)
  const rest = await session.rest
  await edited(
    call,
    infos.map(({ object }) => object),
    async (objects) => {
      for (const object of objects) {
        const info = infos.find((each) => each.type.kind === object.kind) as Info
        const body = flags.isOn('save-config') ? withLastApplied(object) : object
        const made = await rest.json<ApiObject>({
          method: 'POST',
          path: resourcePath(info.type, object.metadata?.namespace ?? info.namespace),
          query: writeQuery(call, 'none'),
          body,
        })
        host.write((await resultPrinter(call, 'created'))(made))
      }
    },
  )
}

export async function editLastApplied(call: Call): Promise<void> {
  const { host, session } = call
  const { infos } = await findInfos(call)
  const rest = await session.rest
  const applied = infos.map((info) => {
    const text = lastAppliedOf(info.object)
    if (text === undefined) throw new CliError(`no last-applied-configuration annotation found on resource: ${info.name}`)
    return JSON.parse(text) as ApiObject
  })
  await edited(call, applied, async (objects) => {
    for (const [index, object] of objects.entries()) {
      const info = infos[index] as Info
      const annotation = lastAppliedOf(withLastApplied(object)) ?? ''
      info.object = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations: { [lastAppliedName]: annotation } } },
      })
      host.write((await resultPrinter(call, 'edited'))(info.object))
    }
  })
}
