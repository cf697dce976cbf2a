/** Config maps and secrets out of files, literals and lists of variables. */

import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { nameArgument } from './create-object.ts'

type Add = (key: string, value: Uint8Array) => void

export async function configMap(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  checkSources(call)
  const data: Record<string, string> = {}
  const binaryData: Record<string, string> = {}
  await addSources(call, (key, value) => {
    checkKey(key, `${JSON.stringify(key)} is not a valid key name for a ConfigMap: `, ',')
    if (Object.hasOwn(data, key))
      throw new CliError(
        `cannot add key ${JSON.stringify(key)}, another key by that name already exists in Data for ConfigMap ${JSON.stringify(name)}`,
      )
    if (isText(value)) data[key] = Buffer.from(value).toString()
    else binaryData[key] = Buffer.from(value).toString('base64')
  })
  const object: ApiObject = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name },
    ...defined({
      data: Object.keys(data).length > 0 ? data : undefined,
      binaryData: Object.keys(binaryData).length > 0 ? binaryData : undefined,
    }),
  }
  return call.flags.isOn('append-hash')
    ? withHash(object, {
        ...omitEmpty({ binaryData }),
        data: Object.keys(data).length > 0 ? data : '',
        kind: 'ConfigMap',
        name,
      })
    : object
}

export async function genericSecret(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  checkSources(call)
  const data: Record<string, string> = {}
  await addSources(call, secretAdder(data))
  const type = call.flags.text('type')
  return finishedSecret(call, name, data, type)
}

export async function tlsSecret(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  const { flags, host } = call
  const [certPath, keyPath] = [flags.text('cert'), flags.text('key')]
  if (certPath === '' || keyPath === '') throw new CliError('key and cert must be specified')
  const read = async (path: string) =>
    host.files.read(path).catch((error: unknown) => Promise.reject(new CliError(`Cannot read file ${path}, ${fileErrorText(error)}`)))
  const [cert, key] = [await read(certPath), await read(keyPath)]
  await checkPair(cert, key)
  return finishedSecret(
    call,
    name,
    { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') },
    'kubernetes.io/tls',
  )
}

async function checkPair(cert: Uint8Array, key: Uint8Array): Promise<void> {
  const { X509Certificate, createPrivateKey } = await import('node:crypto')
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(Buffer.from(key)))) throw new CliError('tls: private key does not match public key')
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError('tls: failed to find any PEM data in certificate input')
  }
}

export async function registrySecret(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  const { flags } = call
  const data: Record<string, string> = {}
  const [username, password, email, server] = ['docker-username', 'docker-password', 'docker-email', 'docker-server'].map((flag) =>
    flags.text(flag),
  )
  if (flags.list('from-file').length === 0 && (!username || !password || !server))
    throw new CliError('either --from-file or the combination of --docker-username, --docker-password and --docker-server is required')
  if (flags.list('from-file').length > 0) await addFiles(call, secretAdder(data), '.dockerconfigjson')
  if (Object.keys(data).length === 0) {
    const auth = Buffer.from(`${username}:${password}`).toString('base64')
    const config = { auths: { [server ?? '']: { username, password, ...omitEmpty({ email }), auth } } }
    data['.dockerconfigjson'] = Buffer.from(JSON.stringify(config)).toString('base64')
  }
  return finishedSecret(call, name, data, 'kubernetes.io/dockerconfigjson')
}

function finishedSecret({ flags }: Call, name: string, data: Record<string, string>, type: string): ApiObject {
  const object: ApiObject = {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name },
    ...omitEmpty({ data, type }),
  }
  return flags.isOn('append-hash')
    ? withHash(object, { data: Object.keys(data).length > 0 ? data : '', kind: 'Secret', name, type })
    : object
}

function secretAdder(data: Record<string, string>): Add {
  return (key, value) => {
    checkKey(key, `${JSON.stringify(key)} is not valid key name for a Secret `, ';')
    if (Object.hasOwn(data, key)) throw new CliError(`cannot add key ${key}, another key by that name already exists`)
    data[key] = Buffer.from(value).toString('base64')
  }
}

function checkSources({ flags }: Call): void {
  if (flags.list('from-env-file').length > 0 && (flags.list('from-file').length > 0 || flags.list('from-literal').length > 0))
    throw new CliError('from-env-file cannot be combined with from-file or from-literal')
}

async function addSources(call: Call, add: Add): Promise<void> {
  const { flags } = call
  for (const literal of flags.list('from-literal')) {
    const [key, value] = splitAt(literal, '=')
    if (value === undefined || key === '') throw new CliError(`invalid literal source ${literal}, expected key=value`)
    const isQuoted = value.length >= 2 && (value[0] === '"' || value[0] === "'") && value[0] === value.at(-1)
    add(key, Buffer.from(isQuoted ? value.slice(1, -1) : value))
  }
  await addFiles(call, add)
  for (const path of flags.list('from-env-file')) await addVariables(call, path, add)
}

async function addFiles({ flags, host: { files } }: Call, add: Add, onlyKey?: string): Promise<void> {
  for (const source of flags.list('from-file')) {
    const [first, second] = splitAt(source, '=')
    if (second?.includes('=')) throw new CliError("key names or file paths cannot contain '='")
    if (second !== undefined && first === '') throw new CliError(`key name for file path ${second} missing`)
    if (second === '') throw new CliError(`file path for key name ${first} missing`)
    const path = second ?? first
    const stat = await files.statTarget(path)
    if (stat === undefined) throw new CliError(`error reading ${path}: no such file or directory`)
    if (stat.kind === 'directory') {
      if (second !== undefined) throw new CliError('cannot give a key name for a directory path')
      for (const entry of await files.list(path)) {
        const inside = await files.stat(join(path, entry))
        if (inside?.kind === 'file') add(entry, await files.read(join(path, entry)))
      }
    } else add(second === undefined ? (onlyKey ?? basename(path)) : first, await files.read(path))
  }
}

async function addVariables({ host }: Call, path: string, add: Add): Promise<void> {
  const stat = await host.files.statTarget(path)
  if (stat === undefined) throw new CliError(`error reading ${path}: no such file or directory`)
  if (stat.kind === 'directory') throw new CliError('env config file cannot be a directory')
  const text = (await host.files.readText(path)).replace(/^\ufeff/, '')
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trimStart()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const [key, value] = splitAt(trimmed, '=')
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(key))
      throw new CliError(
        `${JSON.stringify(key)} is not a valid key name: a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
      )
    add(key, Buffer.from(value ?? host.environment[key] ?? ''))
  }
}

function checkKey(key: string, prefix: string, joint: string): void {
  const problems: string[] = []
  if (key.length > 253) problems.push('must be no more than 253 characters')
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    problems.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    )
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`)
  else if (key.startsWith('..')) problems.push(`must not start with '..'`)
  if (problems.length > 0) throw new CliError(`${prefix}${problems.join(joint)}`)
}

const isText = (value: Uint8Array): boolean => Buffer.from(Buffer.from(value).toString()).equals(value)

/** A name of its own for each content. */
export function withHash(object: ApiObject, content: Record<string, unknown>): ApiObject {
  const sorted = JSON.stringify(
    Object.fromEntries(
      Object.entries(content)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, value]) => [
          key,
          typeof value === 'object' && value !== null
            ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
            : value,
        ]),
    ),
  )
  const escaped = sorted.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
  const hex = createHash('sha256').update(escaped).digest('hex')
  // Letters and digits that make words by chance are replaced.
  const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' }
  const suffix = [...hex.slice(0, 10)].map((char) => letters[char] ?? char).join('')
  return { ...object, metadata: { ...object.metadata, name: `${object.metadata?.name}-${suffix}` } }
}
