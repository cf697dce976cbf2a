/** Auditing as the command line asks for it. */
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import { AuditPolicy } from './audit-policy.ts'
import { type AuditBackend, Auditor } from './auditor.ts'
import { daysMs, LogBackend } from './log-backend.ts'
import { WebhookBackend } from './webhook-backend.ts'

/** Named as the flags are; empty strings where nothing was said. */
export type AuditSettings = {
  auditPolicyFile: string
  auditLogPath: string
  /** In mebibytes, files and days; 0 is without limit. */
  auditLogMaxsize: number
  auditLogMaxbackup: number
  auditLogMaxage: number
  auditWebhookConfigFile: string
}

export type AuditSeams = {
  files: Files
  clock: Clock
  logger: Logger
  metrics: Metrics
  http(options: HttpClientOptions): HttpClient
}

/** Undefined where nobody would keep the events. Backends that are given take the place of those in the settings. */
export async function openAudit(settings: AuditSettings, seams: AuditSeams, given?: readonly AuditBackend[]): Promise<Auditor | undefined> {
  const { files, clock, logger, metrics } = seams
  if (settings.auditPolicyFile === '')
    throw new Error('--audit-policy-file: there is a place for the audit log, but no policy that says what to put there')
  const policy = await AuditPolicy.read(await files.readText(settings.auditPolicyFile), settings.auditPolicyFile)
  if (given !== undefined) return new Auditor({ policy, backends: given, clock, metrics })
  const errors = metrics.counter('apiserver_audit_error_total', 'Audit events that were lost.')
  const backends: AuditBackend[] = []
  if (settings.auditLogPath !== '') {
    backends.push(
      new LogBackend({
        files,
        clock,
        logger,
        path: settings.auditLogPath,
        maxSizeBytes: settings.auditLogMaxsize * 1024 * 1024,
        maxBackups: settings.auditLogMaxbackup,
        maxAgeMs: daysMs(settings.auditLogMaxage),
        onError: () => errors.inc({ plugin: 'log' }),
      }),
    )
  }
  if (settings.auditWebhookConfigFile !== '') {
    const { url, connection, headers } = await readWebhookKubeconfig(files, settings.auditWebhookConfigFile)
    const http = seams.http(connection)
    const send = async (list: string) => {
      const response = await http.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: list,
      })
      const text = await response.text()
      if (response.status < 200 || response.status > 299) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`)
    }
    backends.push(new WebhookBackend({ send, clock, logger, onError: () => errors.inc({ plugin: 'webhook' }) }))
  }
  return backends.length === 0 ? undefined : new Auditor({ policy, backends, clock, metrics })
}
