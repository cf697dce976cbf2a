/** Objects from files, directories, URLs, the standard input and kustomizations. */

import { join } from 'node:path'
import { sorted } from '#api/structural/sorted-json.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, ConnectionError, throwAll } from '#cli/cli-error.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'
import { sortedKeys } from '#cli/template/go-values.ts'
import type { Info } from './info.ts'
import { manifestDocuments } from './manifest-documents.ts'

export type ReadManifest = { info: Info } | { error: unknown }

/** Items of lists are spoken of without the file. */
type ReadObject = { object: ApiObject; isItem: boolean }

type Source = { name: string; text: string } | { error: unknown }

const extensions = ['.json', '.yaml', '.yml']

export const hasManifests = ({ flags }: Call): boolean =>
  flags.list('filename').length > 0 || (flags.has('kustomize') && flags.text('kustomize') !== '')

/** Throws where neither is given. */
export function requireManifests(call: Call): void {
  checkFlags(call)
  if (!hasManifests(call)) throw new CliError('must specify one of -f and -k')
}

function checkFlags({ flags }: Call): void {
  const kustomization = flags.has('kustomize') ? flags.text('kustomize') : ''
  if (kustomization === '') return
  if (flags.list('filename').length > 0) throw new CliError('only one of -f or -k can be specified')
  if (flags.isOn('recursive')) throw new CliError("the -k flag can't be used with -f or -R")
}

/** Throws where one is not there: nothing of the others is done then. */
export async function checkPaths({ flags, host: { files } }: Call): Promise<void> {
  const errors: unknown[] = []
  for (const path of flags.list('filename')) {
    if (path === '-' || path === '' || /^https?:\/\//.test(path) || /[*?[]/.test(path)) continue
    if ((await files.statTarget(path)) === undefined) errors.push(new CliError(`the path ${JSON.stringify(path)} does not exist`))
  }
  throwAll(errors)
}

/** In the order they were given; what cannot be used is an error among the others. */
export async function readManifests(
  call: Call,
  { isLocal = false, needsNamespace = true }: { isLocal?: boolean; needsNamespace?: boolean } = {},
): Promise<ReadManifest[]> {
  checkFlags(call)
  await checkPaths(call)
  const read: ReadManifest[] = []
  for (const source of await sourcesOf(call)) {
    if ('error' in source) read.push(source)
    else
      for (const object of objectsIn(source, validates(call)))
        read.push('error' in object ? object : await infoOf(call, object, source.name, isLocal, needsNamespace))
  }
  return read
}

/** All of them, or the first error. */
export async function readManifestsStrictly(call: Call, options: { isLocal?: boolean; needsNamespace?: boolean } = {}): Promise<Info[]> {
  return (await readManifests(call, options)).map((each) => {
    if ('error' in each) throw each.error
    return each.info
  })
}

async function sourcesOf(call: Call): Promise<Source[]> {
  const { flags, host } = call
  const kustomization = flags.has('kustomize') ? flags.text('kustomize') : ''
  if (kustomization !== '') {
    const { buildKustomization } = await import('#cli/kustomize/build.ts')
    return [{ name: kustomization, text: await buildKustomization(host, kustomization) }]
  }
  const sources: Source[] = []
  if (flags.list('filename').filter((path) => path === '-').length > 1)
    throw new CliError('standard input cannot be used for multiple arguments')
  for (const path of flags.list('filename')) {
    if (path === '-') sources.push({ name: 'STDIN', text: Buffer.from(await host.terminal.readAll()).toString() })
    else if (/^https?:\/\//.test(path)) sources.push(await fromUrl(call, path))
    else sources.push(...(await fromPath(call, path)))
  }
  return sources
}

async function fromUrl({ host }: Call, url: string): Promise<Source> {
  using http = host.http({})
  for (let at = url, hops = 0; hops < 10; hops++) {
    const answer = await http.request({ url: at }).catch((error: unknown) => {
      throw new ConnectionError(new URL(at).host, error)
    })
    const { location } = answer.headers
    if (answer.status >= 300 && answer.status < 400 && location !== undefined) at = new URL(location, at).href
    else if (answer.status === 200) return { name: url, text: await answer.text(64 << 20) }
    else return { error: new CliError(`unable to read URL "${url}", server reported ${answer.status}, status code=${answer.status}`) }
  }
  return { error: new CliError(`Get "${url}": stopped after 10 redirects`) }
}

async function fromPath({ flags, host: { files } }: Call, path: string): Promise<Source[]> {
  const paths = /[*?[]/.test(path) && (await files.statTarget(path)) === undefined ? await matching(path) : [path]
  const sources: Source[] = []
  for (const each of paths) {
    const stat = await files.statTarget(each)
    if (stat === undefined) return [{ error: new CliError(`the path ${JSON.stringify(each)} does not exist`) }]
    if (stat.kind !== 'directory') {
      sources.push({
        name: each,
        text: await files.readText(each).catch((error: unknown) => {
          throw new CliError(fileErrorText(error))
        }),
      })
      continue
    }
    const inside = await filesBelow(files, each, flags.isOn('recursive'))
    if (inside.length === 0)
      return [{ error: new CliError(`error reading [${each}]: recognized file extensions are [${extensions.join(' ')}]`) }]
    for (const file of inside) sources.push({ name: file, text: await files.readText(file) })
  }
  return sources

  async function matching(pattern: string): Promise<string[]> {
    const slash = pattern.lastIndexOf('/')
    const [directory, name] = slash < 0 ? ['', pattern] : [pattern.slice(0, slash + 1), pattern.slice(slash + 1)]
    const expression = new RegExp(
      `^${name
        .replaceAll(/[.+^${}()|\\]/g, '\\$&')
        .replaceAll('*', '[^/]*')
        .replaceAll('?', '[^/]')}$`,
    )
    const found = (await files.list(directory || '.')).filter((each) => expression.test(each)).map((each) => `${directory}${each}`)
    return found.length > 0 ? found : [pattern]
  }
}

async function filesBelow(files: Call['host']['files'], directory: string, isRecursive: boolean): Promise<string[]> {
  const found: string[] = []
  for (const name of await files.list(directory)) {
    const path = join(directory, name)
    const stat = await files.statTarget(path)
    if (stat?.kind === 'directory') {
      if (isRecursive) found.push(...(await filesBelow(files, path, true)))
    } else if (extensions.some((extension) => name.endsWith(extension))) found.push(path)
  }
  return found
}

function objectsIn({ name, text }: { name: string; text: string }, validates = false): (ReadObject | { error: unknown })[] {
  return manifestDocuments(text).flatMap((document) =>
    'problem' in document
      ? [{ error: new CliError(`error parsing ${name}: ${document.problem}`) }]
      : // In the order in which kubectl sends fields, and the server complains of them.
        flattened(sortedKeys(document.value) as ApiObject, name, validates),
  )
}

function flattened(value: ApiObject, source: string, validates: boolean, isItem = false): (ReadObject | { error: unknown })[] {
  const problems = validates ? problemsOf(value) : []
  if (problems.length > 0) {
    const text = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`
    return [
      {
        error: new CliError(
          `error validating ${JSON.stringify(source)}: error validating data: ${text}; if you choose to ignore these errors, turn validation off with --validate=false`,
        ),
      },
    ]
  }
  if (typeof value !== 'object' || Array.isArray(value))
    return [
      {
        error: new CliError(
          `unable to decode ${JSON.stringify(source)}: json: cannot unmarshal ${goKind(value)} into Go value of type unstructured.detector`,
        ),
      },
    ]
  if (!value.kind)
    return [
      { error: new CliError(`unable to decode ${JSON.stringify(source)}: Object 'Kind' is missing in '${JSON.stringify(sorted(value))}'`) },
    ]
  if (!value.apiVersion)
    return [
      {
        error: new CliError(
          `unable to decode ${JSON.stringify(source)}: Object 'apiVersion' is missing in '${JSON.stringify(sorted(value))}'`,
        ),
      },
    ]
  if (!Array.isArray(value['items']) || !value.kind.endsWith('List')) return [{ object: value, isItem }]
  // Items of a list of one kind need not say which.
  const ofList = value.kind === 'List' ? {} : { apiVersion: value.apiVersion, kind: value.kind.slice(0, -'List'.length) }
  return (value['items'] as ApiObject[]).flatMap((item) => flattened({ ...ofList, ...item }, source, validates, true))
}

/** What is wrong with it at first sight. */
function problemsOf(value: ApiObject): string[] {
  if (typeof value !== 'object' || Array.isArray(value)) return ['invalid object to validate']
  const problems = (['apiVersion', 'kind'] as const).flatMap((field) =>
    value[field] === undefined || value[field] === null || value[field] === ''
      ? [`${field} not set`]
      : typeof value[field] !== 'string'
        ? [`${field} isn't string type`]
        : [],
  )
  const isPlainList = value.apiVersion === 'v1' && value.kind === 'List'
  return problems.length === 0 && isPlainList && !Array.isArray(value['items']) ? ['invalid object to validate'] : problems
}

const validates = ({ flags }: Call): boolean => flags.has('validate') && !['ignore', 'false'].includes(flags.text('validate').toLowerCase())

async function infoOf(
  call: Call,
  { object, isItem }: ReadObject,
  source: string,
  isLocal: boolean,
  needsNamespace: boolean,
): Promise<ReadManifest> {
  const { apiVersion = '', kind = '' } = object
  const type = isLocal ? undefined : await (await call.session.types).ofKind(apiVersion, kind)
  const unknown = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`
  if (type === undefined && !isLocal && isItem) return { error: new CliError(`unable to recognize ${unknown}`) }
  object.metadata ??= {}
  const { metadata } = object
  if (Array.isArray(metadata) || typeof metadata !== 'object')
    return {
      error: new CliError(
        `unable to decode ${JSON.stringify(source)}: json: cannot unmarshal ${goKind(metadata)} into Go struct field metadataOnlyObject.metadata of type v1.ObjectMeta`,
      ),
    }
  for (const field of ['name', 'namespace', 'generateName'] as const)
    if (metadata[field] !== undefined && metadata[field] !== null && typeof metadata[field] !== 'string')
      return {
        error: new CliError(
          `unable to decode ${JSON.stringify(source)}: json: cannot unmarshal ${goKind(metadata[field])} into Go struct field ObjectMeta.metadata.${field} of type string`,
        ),
      }
  for (const field of ['labels', 'annotations'] as const) {
    const wrong = Object.values(metadata[field] ?? {}).find((value) => typeof value !== 'string')
    if (wrong !== undefined && wrong !== null)
      return {
        error: new CliError(
          `unable to decode ${JSON.stringify(source)}: json: cannot unmarshal ${goKind(wrong)} into Go struct field ObjectMeta.metadata.${field} of type string`,
        ),
      }
  }
  const { namespace, isNamespaceGiven } = isLocal ? await localNamespace(call) : await call.session.context
  if (type === undefined && !isLocal) {
    const place = `name: ${JSON.stringify(metadata.name ?? '')} namespace: ${JSON.stringify(metadata.namespace ?? '')} from ${JSON.stringify(source)}`
    return { error: new CliError(`resource mapping not found for ${place}: ${unknown}\nensure CRDs are installed first`) }
  }
  const found = type ?? guessedType(apiVersion, kind)
  if (found.isNamespaced && needsNamespace) {
    if (metadata.namespace && isNamespaceGiven && metadata.namespace !== namespace)
      return {
        error: new CliError(
          `the namespace from the provided object ${JSON.stringify(metadata.namespace)} does not match the namespace ${JSON.stringify(namespace)}. You must pass '--namespace=${metadata.namespace}' to perform this operation.`,
        ),
      }
    if (!metadata.namespace && !isLocal) metadata.namespace = namespace
  }
  const inside = found.isNamespaced ? (metadata.namespace ?? '') : ''
  return { info: { type: found, namespace: inside, name: metadata.name ?? '', object, source } }
}

async function localNamespace({ flags }: Call): Promise<{ namespace: string; isNamespaceGiven: boolean }> {
  return { namespace: flags.text('namespace') || 'default', isNamespaceGiven: flags.isSet('namespace') }
}

/** Without a server nobody knows how the resource is called; the usual plural will do for messages. */
function guessedType(apiVersion: string, kind: string): Info['type'] {
  const slash = apiVersion.indexOf('/')
  const lower = kind.toLowerCase()
  const plural = lower.endsWith('s') || lower.endsWith('x') ? `${lower}es` : lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    plural,
    singular: lower,
    kind,
    isNamespaced: true,
    shortNames: [],
    categories: [],
    verbs: [],
    subresources: [],
    isPreferred: true,
  }
}

/** What JSON's values are called in Go's messages. */
const goKind = (value: unknown): string =>
  typeof value === 'string'
    ? 'string'
    : typeof value === 'boolean'
      ? 'bool'
      : typeof value === 'number'
        ? 'number'
        : Array.isArray(value)
          ? 'array'
          : 'object'
