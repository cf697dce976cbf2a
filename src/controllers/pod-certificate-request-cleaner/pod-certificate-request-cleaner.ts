import { PodCertificateRequest } from '#api/certificates/v1beta1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'
import { createdMs } from '#controllers/workload/pods.ts'

const minuteMs = 60_000
/** A kubelet has what it asked for by then, or asks anew. */
const oldMs = 15 * minuteMs

/** Removes requests for certificates of pods, whatever became of them. */
export const podCertificateRequestCleaner = whereServed(
  PodCertificateRequest,
  defineLoop({
    name: 'podcertificaterequest-cleaner-controller',
    serviceAccount: 'podcertificaterequestcleaner',
    isNeeded: ({ isEnabled }) => isEnabled('PodCertificateRequest'),
    reads: [PodCertificateRequest],
    periodMs: () => 5 * minuteMs,

    begin:
      ({ cache, client, clock, logger }) =>
      async () => {
        for (const { metadata } of cache.list(PodCertificateRequest)) {
          if (clock.now() < createdMs({ metadata }) + oldMs) continue
          const { namespace = '', name = '', uid } = metadata
          await client.delete(PodCertificateRequest, { namespace, name }, defined({ uid })).catch((error: unknown) => {
            if (!isNotFound(error)) logger.warn('failed to delete PodCertificateRequest', { namespace, name, error: String(error) })
          })
        }
      },
  }),
)
