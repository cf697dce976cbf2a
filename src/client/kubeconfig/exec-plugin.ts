/** Credentials from a program of the user's: it is asked when there are none yet, or when they are about to expire. */

import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { hasCode } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { type Terminal, thisTerminal } from '#base/terminal.ts'
import type { ExecPlugin, KubeconfigCluster } from '#client/kubeconfig/kubeconfig.ts'

export type ExecCredential = { token?: string; clientCertificateData?: string; clientKeyData?: string; expirationTimestamp?: string }

export type ExecSeams = { processes: Processes; clock: Clock; terminal?: Pick<Terminal, 'inputIsTerminal'> }

const earlyMs = 10_000

export class ExecCredentials {
  readonly #plugin: ExecPlugin
  readonly #cluster: KubeconfigCluster
  readonly #processes: Processes
  readonly #clock: Clock
  readonly #terminal: Pick<Terminal, 'inputIsTerminal'>
  #credential: ExecCredential | undefined
  #asking: Promise<ExecCredential> | undefined

  constructor(plugin: ExecPlugin, cluster: KubeconfigCluster, { processes, clock, terminal = thisTerminal }: ExecSeams) {
    this.#plugin = plugin
    this.#cluster = cluster
    this.#processes = processes
    this.#clock = clock
    this.#terminal = terminal
  }

  /** The server did not take it: the next one who needs a credential gets another. */
  refuse(refused: ExecCredential): void {
    if (this.#credential === refused) this.#credential = undefined
  }

  async get(): Promise<ExecCredential> {
    const known = this.#credential
    const isFresh =
      known !== undefined && (!known.expirationTimestamp || parseTime(known.expirationTimestamp) - earlyMs > this.#clock.now())
    if (isFresh) return known
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<ExecCredential> {
    const { apiVersion, command, args, environment, providesClusterInfo } = this.#plugin
    const { server, authority } = this.#cluster
    const data = authority === undefined ? {} : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }
    const interactive = this.#isInteractive()
    const spec = { interactive, ...defined({ cluster: providesClusterInfo ? { server, ...data } : undefined }) }
    const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec })
    const result = await this.#processes
      .run(command, args, {
        environment: { ...environment, KUBERNETES_EXEC_INFO: info },
        // It may say there what its user is to do, such as the code of a login.
        shares: { input: interactive, errors: true },
      })
      .catch((error: unknown) => {
        throw this.#notStarted(error)
      })
    if (result.exitCode !== 0) throw new CredentialError(`exec: executable ${command} failed with exit code ${result.exitCode}`)
    const answer = parsed(result.stdout)
    if (answer.apiVersion !== apiVersion)
      throw new CredentialError(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${answer.apiVersion}`)
    if (answer.status === undefined) throw new CredentialError("exec plugin didn't return a status field")
    this.#credential = answer.status
    return answer.status
  }
  #isInteractive(): boolean {
    const { interactiveMode } = this.#plugin
    const isTerminal = this.#terminal.inputIsTerminal
    if (interactiveMode === 'Always' && !isTerminal)
      throw new CredentialError('exec plugin cannot support interactive mode: standard input is not a terminal')
    return interactiveMode !== 'Never' && isTerminal
  }

  #notStarted(error: unknown): CredentialError {
    const { command, installHint } = this.#plugin
    const isMissing = hasCode(error, 'ENOENT')
    if (isMissing && !command.includes('/'))
      return new CredentialError(`exec: executable ${command} not found${installHint === '' ? '' : `\n\n${installHint}`}`)
    const why = isMissing ? 'no such file or directory' : hasCode(error, 'EACCES') ? 'permission denied' : errorMessage(error)
    return new CredentialError(`exec: fork/exec ${command}: ${why}`)
  }
}

/** The program that gives credentials gave none. */
export class CredentialError extends Error {
  constructor(why: string) {
    super(`getting credentials: ${why}`)
    this.name = 'CredentialError'
  }
}

function parsed(stdout: string): { apiVersion?: string; status?: ExecCredential } {
  try {
    return JSON.parse(stdout) as { apiVersion?: string; status?: ExecCredential }
  } catch (error) {
    throw new CredentialError(`decoding stdout: ${errorMessage(error)}`)
  }
}
