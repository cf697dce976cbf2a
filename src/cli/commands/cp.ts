/** `kubectl cp`: a tar archive through `exec`. */

import { basename, dirname, join, posix } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { converse } from '#cli/streams/conversation.ts'
import { listTar, type TarEntry, writeTar } from '#wire/tar.ts'
import { containerOf } from './exec.ts'

type Place = { namespace: string; pod: string; path: string }

export async function cp(call: Call): Promise<void> {
  const { args } = call
  const [from, to] = args
  if (from === undefined || to === undefined || args.length > 2) throw new CliError('source and destination are required')
  const [source, target] = [placeOf(from), placeOf(to)]
  if (source.pod !== '' && target.pod !== '') throw new CliError('one of src or dest must be a local file specification')
  if (source.path === '' || target.path === '') throw new CliError('filepath can not be empty')
  if (target.pod !== '') return copyIn(call, source.path, target)
  if (source.pod !== '') return copyOut(call, source, target.path)
  throw new CliError('one of src or dest must be a remote file specification')
}

/** `[namespace/]pod:path`, else a local path. */
function placeOf(text: string): Place {
  const colon = text.indexOf(':')
  if (colon === 0) throw new CliError('filespec must match the canonical format: [[namespace/]pod:]file/path')
  if (colon < 0) return { namespace: '', pod: '', path: text }
  const [before, path] = [text.slice(0, colon), text.slice(colon + 1)]
  const parts = before.split('/')
  if (parts.length > 2) throw new CliError('filespec must match the canonical format: [[namespace/]pod:]file/path')
  return { namespace: parts.length === 2 ? (parts[0] ?? '') : '', pod: parts.at(-1) ?? '', path }
}

async function remote(
  call: Call,
  { namespace, pod: name }: Place,
  command: readonly string[],
  streams: { input?: AsyncIterable<Uint8Array>; onOutput?(data: Uint8Array): void },
): Promise<void> {
  const rest = await call.session.rest
  const inside = namespace || (await call.session.namespace())
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, inside, name)
  const pod = await rest.json<V1Pod>({ path })
  const container = containerOf(call, pod)
  const { input, onOutput = () => {} } = streams
  const code = await converse(call, {
    path: `${path}/exec`,
    query: { command, container, stdin: input === undefined ? undefined : 'true', stdout: 'true', stderr: 'true' },
    ...defined({ input }),
    onOutput,
    onError: (data) => call.host.complain(Buffer.from(data).toString()),
  })
  if (code !== 0) throw new CliError(`command terminated with exit code ${code}`, code)
}

async function copyIn(call: Call, local: string, target: Place): Promise<void> {
  const { files } = call.host
  if ((await files.statTarget(local)) === undefined) throw new CliError(`${local} doesn't exist in local filesystem`)
  const isDirectory = await remote(call, target, ['test', '-d', target.path], {}).then(
    () => true,
    () => false,
  )
  const path = isDirectory ? posix.join(target.path, basename(local)) : trimEndOf(target.path, '/')
  const entries = await entriesBelow(call, local, posix.basename(path))
  const flags = call.flags.isOn('no-preserve') ? ['--no-same-permissions', '--no-same-owner'] : []
  const directory = posix.dirname(path)
  const archive = writeTar(entries)
  await remote(call, target, ['tar', ...flags, '-xmf', '-', ...(directory === '.' ? [] : ['-C', directory])], {
    input: (async function* () {
      for (let at = 0; at < archive.length; at += 65_536) yield archive.subarray(at, at + 65_536)
    })(),
  })
}

async function entriesBelow(call: Call, path: string, name: string): Promise<TarEntry[]> {
  const { files } = call.host
  const stat = await files.stat(path)
  if (stat === undefined) return []
  const modifiedSeconds = Math.floor(stat.modifiedMs / 1000)
  if (stat.kind === 'symlink') return [{ path: name, kind: 'symlink', target: (await files.readLink(path)) ?? '', modifiedSeconds }]
  if (stat.kind === 'file') return [{ path: name, content: await files.read(path), mode: stat.mode & 0o777, modifiedSeconds }]
  if (stat.kind !== 'directory') return []
  const inside: TarEntry[] = [{ path: `${name}/`, kind: 'directory', mode: stat.mode & 0o777, modifiedSeconds }]
  for (const each of await files.list(path)) inside.push(...(await entriesBelow(call, join(path, each), posix.join(name, each))))
  return inside
}

async function copyOut(call: Call, source: Place, local: string): Promise<void> {
  const { files } = call.host
  const pieces: Uint8Array[] = []
  await remote(call, source, ['tar', 'cf', '-', source.path], { onOutput: (data) => void pieces.push(data) })
  const archive = Buffer.concat(pieces)
  const places = await listTar({ readAt: async (position, sizeBytes) => archive.subarray(position, position + sizeBytes) })
  if (places.length === 0) throw new CliError(`${source.path} no such file or directory`)
  const prefix = trimEndOf(source.path.replace(/^\/+/, ''), '/')
  const target = (await files.statTarget(local))?.kind === 'directory' ? join(local, posix.basename(prefix)) : local
  for (const { path, kind, mode, position, sizeBytes } of places) {
    const relative = trimEndOf(path.replace(/^\.?\/+/, ''), '/')
    if (relative !== prefix && !relative.startsWith(`${prefix}/`)) continue
    const rest = relative.slice(prefix.length).replace(/^\//, '')
    // An archive of somebody else's may name places outside of the target.
    if (rest.split('/').includes('..')) {
      call.host.complain(`warning: file ${JSON.stringify(path)} is outside target destination, skipping\n`)
      continue
    }
    const place = rest === '' ? target : join(target, rest)
    if (kind === 'symlink') call.host.complain(`warning: skipping symlink: ${JSON.stringify(place)} -> it is not copied for safety\n`)
    else if (kind === 'directory') await files.makeDirectory(place, { mode: 0o755 })
    else {
      await files.makeDirectory(dirname(place), { mode: 0o755 })
      await files.write(place, archive.subarray(position, position + sizeBytes), { mode: (mode ?? 0o644) & 0o777 })
    }
  }
}
