/** `kubectl certificate approve|deny` */
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, infoPath } from '#cli/resources/info.ts'
import { hasManifests } from '#cli/resources/read-manifests.ts'

export const approve = (call: Call): Promise<void> =>
  decide(call, 'Approved', 'KubectlApprove', 'This CSR was approved by kubectl certificate approve.', 'approved')
export const deny = (call: Call): Promise<void> =>
  decide(call, 'Denied', 'KubectlDeny', 'This CSR was denied by kubectl certificate deny.', 'denied')

async function decide(call: Call, type: 'Approved' | 'Denied', reason: string, message: string, operation: string): Promise<void> {
  const { args, flags, host, session } = call
  if (args.length === 0 && !hasManifests(call)) throw new CliError('one or more CSRs must be specified as <name> or -f <filename>')
  const { infos, errors } = await findInfos(call, { args: args.length > 0 ? ['certificatesigningrequests', ...args] : [] })
  const printer = await resultPrinter(call, operation)
  const rest = await session.rest
  for (const info of infos) {
    try {
      for (let attempt = 1; ; attempt++) {
        const request = info.object as unknown as V1CertificateSigningRequest
        const conditions = request.status?.conditions ?? []
        if (conditions.some((each) => each.type === type) && !flags.isOn('force')) break
        const opposite = type === 'Approved' ? 'Denied' : 'Approved'
        if (conditions.some((each) => each.type === opposite))
          throw new CliError(`certificate signing request ${JSON.stringify(info.name)} is already ${opposite}`)
        const former = conditions.find((each) => each.type === type)
        const kept = conditions.filter((each) => each.type !== type)
        const body = {
          ...request,
          status: {
            ...request.status,
            conditions: [
              ...kept,
              {
                ...former,
                type,
                status: 'True',
                reason,
                message,
                lastUpdateTime: new Date(host.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
              },
            ],
          },
        }
        try {
          info.object = await rest.json<ApiObject>({ method: 'PUT', path: infoPath(info, 'approval'), body })
          break
        } catch (error) {
          if (!(error instanceof ApiError && error.isConflict) || attempt >= 10) throw error
          info.object = await fetchInfo(rest, info)
        }
      }
      host.write(printer(info.object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}
