/** `kubectl proxy`: the API on this machine, with the user's credentials put to each request. */

import { dirname, join, resolve } from 'node:path'
import { defined } from '#base/defined.ts'
import { localHttpServer } from '#base/local-http-server.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

export async function proxy(call: Call): Promise<void> {
  const { flags, host, session } = call
  const port = flags.number('port')
  const [path, methods, hosts, rejected] = ['accept-paths', 'reject-methods', 'accept-hosts', 'reject-paths'].map((flag) =>
    flags.text(flag) === ''
      ? []
      : flags
          .text(flag)
          .split(',')
          .map((text) => expression(flag, text)),
  ) as [RegExp[], RegExp[], RegExp[], RegExp[]]
  if (port !== defaultPort && flags.text('unix-socket') !== '') throw new CliError('cannot set --unix-socket and --port at the same time')
  const isFree = flags.isOn('disable-filter')
  const prefix = `/${trimEndOf(flags.text('api-prefix').replace(/^\/+/, ''), '/')}/`.replace('//', '/')
  const [www, wwwPrefix] = [flags.text('www'), flags.text('www-prefix')]
  const rest = await session.rest
  const refused = (method: string, target: string, name: string): boolean => {
    if (isFree) return false
    const plain = target.split('?')[0] ?? ''
    if (rejected.some((each) => each.test(plain)) || methods.some((each) => each.test(method))) return true
    return !path.some((each) => each.test(plain)) || !hosts.some((each) => each.test(name.replace(/:\d+$/, '')))
  }
  const unixSocket = flags.text('unix-socket')
  if (unixSocket === '' && (port < 0 || port > 65_535)) throw new CliError(`listen tcp: address ${port}: invalid port`)
  // One that a proxy before us has left.
  if (unixSocket !== '') await host.files.remove(unixSocket)
  const server = await localHttpServer(
    { host: flags.text('address'), port, ...omitEmpty({ unixSocket }) },
    async ({ method, target, headers, body }, answer) => {
      if (refused(method, target, String(headers['host'] ?? ''))) return answer.send(403, { 'content-type': 'text/plain' }, 'Forbidden')
      if (www !== '' && target.startsWith(wwwPrefix)) {
        const file = join(resolve(www), target.slice(wwwPrefix.length).split('?')[0] ?? '')
        const content = file.startsWith(resolve(www)) ? await host.files.read(file).catch(() => undefined) : undefined
        return content === undefined
          ? answer.send(404, { 'content-type': 'text/plain' }, '404 page not found\n')
          : answer.send(200, {}, content)
      }
      if (!target.startsWith(prefix) && `${target}/` !== prefix)
        return answer.send(404, { 'content-type': 'text/plain' }, '404 page not found\n')
      const inside = prefix === '/' ? target : `/${target.slice(prefix.length)}`
      const passed = await rest.send({
        method: method as 'GET',
        path: inside,
        accept: String(headers['accept'] ?? '*/*'),
        ...defined({ body: body.length > 0 ? Buffer.from(body).toString() : undefined }),
        contentType: String(headers['content-type'] ?? 'application/json'),
        signal: answer.signal,
      })
      return answer.stream(passed.status, { 'content-type': passed.header('content-type') ?? 'application/json' }, passed.chunks())
    },
  ).catch(async (error: unknown) => {
    // Node tells of a directory that is not there as of one that is closed to us.
    if (unixSocket !== '' && (await host.files.statTarget(dirname(unixSocket))) === undefined)
      Object.assign(error as Error, { code: 'ENOENT' })
    throw new CliError(listenProblem(error, unixSocket === '' ? `tcp ${flags.text('address')}:${port}` : `unix ${unixSocket}`))
  })
  host.write(`Starting to serve on ${server.address}\n`)
  await new Promise<void>((done) => host.interrupted.addEventListener('abort', () => done()))
  await server.close()
}

const defaultPort = 8001

/** In Go's words. */
function listenProblem(error: unknown, where: string): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `listen tcp: lookup ${where.replace(/^tcp |:\d+$/g, '')}: no such host`
  const reason = reasons[code ?? '']
  return reason === undefined ? message : `listen ${where}: bind: ${reason}`
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
  ENOENT: 'no such file or directory',
}

function expression(flag: string, text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw new CliError(`--${flag}: ${text} is no regular expression`)
  }
}
