/** `--raw` of the commands that write: a file is sent as it is. */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'

export function checkOneFile({ flags }: Call): void {
  const [path = '', ...more] = flags.list('filename')
  if (path === '' || more.length > 0) throw new CliError('--raw can only use a single local file or stdin')
  if (/^https?:\/\//.test(path)) throw new CliError('--raw cannot read from a url')
}

export function checkRawPath(path: string): void {
  if (path.startsWith('/') || URL.canParse(path)) return
  const why = path.startsWith(':') ? 'missing protocol scheme' : 'invalid URI for request'
  throw new CliError(`--raw must be a valid URL path: parse ${JSON.stringify(path)}: ${why}`)
}

/** Without a file nothing is sent along. */
export async function sendRaw({ flags, host, session }: Call, method: 'POST' | 'PUT' | 'DELETE'): Promise<void> {
  const [path = ''] = flags.list('filename')
  const rest = await session.rest
  host.write(await rest.text({ method, path: flags.text('raw'), ...(path === '' ? {} : { body: await content() }) }))

  async function content(): Promise<string> {
    if (path === '-') return Buffer.from(await host.terminal.readAll()).toString()
    return host.files.readText(path).catch((error: unknown) => {
      throw new CliError(fileErrorText(error))
    })
  }
}
