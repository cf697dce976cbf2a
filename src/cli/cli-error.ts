import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { CredentialError } from '#client/kubeconfig/exec-plugin.ts'

/** What ends a command: its message is printed as `error: …`. */
export class CliError extends Error {
  override name = 'CliError'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Printed as it is, with nothing before it; an empty message says that everything was said already. */
export class PlainError extends CliError {
  override name = 'PlainError'
}

/** The server refused. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: V1Status

  constructor(status: V1Status, message = status.message ?? 'unknown') {
    super(message)
    this.status = status
  }

  get isNotFound(): boolean {
    return this.status.reason === 'NotFound'
  }
  get isConflict(): boolean {
    return this.status.reason === 'Conflict'
  }

  /** With what was being done in front of the message. */
  during(verb: string, source: string): ApiError {
    const message = `error when ${verb} ${JSON.stringify(source)}: ${this.message}`
    return new ApiError({ ...this.status, message }, message)
  }
}

/** Several things went wrong; each is told on a line of its own. */
export class ManyErrors extends Error {
  override name = 'ManyErrors'
  readonly errors: readonly unknown[]

  constructor(errors: readonly unknown[]) {
    super(`[${errors.map((error) => messageOf(error)).join(', ')}]`)
    this.errors = errors
  }
}

/** Throws what was gathered, if anything. */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new ManyErrors(errors.flatMap((error) => (error instanceof ManyErrors ? error.errors : [error])))
}

/** No resource of that name; `group` and `version` as far as they were given. */
export class NoResourceError extends CliError {
  override name = 'NoResourceError'
  constructor(resource: string, group: string, version: string) {
    const where = [
      ...(group === '' ? [] : [`in group "${group}"`]),
      ...(version === '' ? [] : [`${group === '' ? 'in' : 'and'} version "${version}"`]),
    ]
    super([`the server doesn't have a resource type "${resource}"`, ...where].join(' '))
  }
}

/** `kubectl X -h` is pointed at. */
export function usageError(path: string, message: string): CliError {
  return new CliError(`${message}\nSee 'kubectl ${path} -h' for help and examples`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** What is printed on the standard error, with the line break at its end. */
export function errorText(error: unknown): string {
  const text = wholeText(error)
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function wholeText(error: unknown): string {
  if (error instanceof ManyErrors && error.errors.length === 1) return wholeText(error.errors[0])
  if (error instanceof PlainError) return error.message
  if (error instanceof ApiError && error.status.reason === 'Invalid') return invalidText(error)
  if (error instanceof ManyErrors) return error.errors.map((each) => `${standardText(each) ?? messageOf(each)}\n`).join('')
  const standard = standardText(error)
  if (standard !== undefined) return `${standard}\n`
  const message = messageOf(error)
  return message.startsWith('error: ') ? message : `error: ${message}`
}

function standardText(error: unknown): string | undefined {
  if (error instanceof ApiError) {
    const { reason } = error.status
    if (reason === 'Unauthorized') return `error: You must be logged in to the server (${error.message})`
    return reason ? `Error from server (${reason}): ${error.message}` : `Error from server: ${error.message}`
  }
  if (error instanceof CredentialError) return `Unable to connect to the server: ${error.message}`
  if (error instanceof ConnectionError) {
    if (error.isRefused) return `The connection to the server ${error.host} was refused - did you specify the right host or port?`
    return `Unable to connect to the server: ${error.message}`
  }
  return undefined
}

/** No answer could be had. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
  readonly host: string
  readonly isRefused: boolean

  constructor(host: string, cause: unknown) {
    const { code, message } = cause as NodeJS.ErrnoException
    super(messageOfConnection(code, message, host), { cause })
    this.host = host
    this.isRefused = code === 'ECONNREFUSED'
  }
}

function messageOfConnection(code: string | undefined, message: string, host: string): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host.replace(/:\d+$/, '')}: no such host`
  if (code === 'SELF_SIGNED_CERT_IN_CHAIN' || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' || code === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `tls: failed to verify certificate: x509: ${otherNames(message)}`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid'
  return message
}

/** Node's sentence about a certificate for others, in Go's words. */
function otherNames(message: string): string {
  const [, ip, dns, names = ''] =
    /(?:IP: (\S+)|Host: (\S+?)\.?) is not (?:in )?(?:the )?cert's (?:altnames|list): ?(.*)$/.exec(message) ?? []
  const wanted = ip ?? dns
  if (wanted === undefined) return message
  const valid = [...names.matchAll(ip === undefined ? /DNS:([^,]+)/g : /IP Address:([^,]+)/g)].map(([, name = '']) => name.trim())
  if (valid.length === 0)
    return ip === undefined
      ? `certificate is not valid for any names, but wanted to match ${wanted}`
      : `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
  return `certificate is valid for ${valid.join(', ')}, not ${wanted}`
}

function invalidText({ status, message }: ApiError): string {
  const { details } = status
  if (details === undefined) return `The request is invalid: ${message}\n`
  const causes = details.causes ?? []
  const subject =
    details.kind || details.name ? `The ${details.kind ?? ''} ${JSON.stringify(details.name ?? '')} is invalid` : 'The request is invalid'
  if (causes.length === 0) return details.kind || details.name || !message ? `${subject}\n` : `${subject}: ${message}\n`
  const lines = [...new Set(causes.map(({ field, message: text }) => (field ? `${field}: ${text}` : `${text}`)))]
  if (lines.length === 1) return `${subject}: ${lines[0]}\n`
  return `${subject}: \n${lines.map((line) => `* ${line}\n`).join('')}`
}
