/** Credentials from a program of the user's: it is asked when there are none yet, or when they are about to expire. */
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import type { Processes } from '#base/processes.ts'
import type { ExecPlugin, KubeconfigCluster } from '#client/kubeconfig/kubeconfig.ts'

export type ExecCredential = { token?: string; clientCertificateData?: string; clientKeyData?: string; expirationTimestamp?: string }

const earlyMs = 10_000

export class ExecCredentials {
  readonly #plugin: ExecPlugin
  readonly #cluster: KubeconfigCluster
  readonly #processes: Processes
  readonly #clock: Clock
  #credential: ExecCredential | undefined
  #asking: Promise<ExecCredential> | undefined

  constructor(plugin: ExecPlugin, cluster: KubeconfigCluster, { processes, clock }: { processes: Processes; clock: Clock }) {
    this.#plugin = plugin
    this.#cluster = cluster
    this.#processes = processes
    this.#clock = clock
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
    const { apiVersion, command, args, environment, providesClusterInfo, installHint } = this.#plugin
    const { server, authority } = this.#cluster
    const data = authority === undefined ? {} : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }
    const spec = { interactive: false, ...(providesClusterInfo ? { cluster: { server, ...data } } : {}) }
    const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec })
    const result = await this.#processes
      .run(command, args, { environment: { ...environment, KUBERNETES_EXEC_INFO: info } })
      .catch((error: unknown) => {
        throw new Error(`the credential program ${command} could not be started${installHint === '' ? '' : `; ${installHint}`}`, {
          cause: error,
        })
      })
    if (result.exitCode !== 0) throw new Error(`the credential program ${command} ended with ${result.exitCode}: ${result.stderr.trim()}`)
    const answer = JSON.parse(result.stdout) as { apiVersion?: string; status?: ExecCredential }
    if (answer.apiVersion !== apiVersion)
      throw new Error(`the credential program ${command} answered in ${answer.apiVersion}, not in ${apiVersion}`)
    if (answer.status === undefined) throw new Error(`the credential program ${command} answered without a status`)
    this.#credential = answer.status
    return answer.status
  }
}
