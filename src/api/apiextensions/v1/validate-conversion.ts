/** How objects get from one version to another: not at all, or through a webhook. */
import type { Strictness } from '#api/apiextensions/v1/strictness.ts'
import type { UnversionedSpec } from '#api/apiextensions/v1/unversioned-spec.ts'
import type { Check } from '#api/meta/check.ts'
import { validateReviewVersions } from '#api/meta/review-versions.ts'
import { caBundleError, validateWebhookService, validateWebhookUrl } from '#api/meta/webhook-client.ts'

const strategies = ['None', 'Webhook']

export function validateConversion(
  { conversion, preserveUnknownFields }: UnversionedSpec,
  check: Check<UnversionedSpec['conversion']>,
  strictness: Strictness,
): void {
  if (conversion === undefined) return
  const { strategy, webhookClientConfig: client, conversionReviewVersions: versions } = conversion
  if (strategy !== 'None' && preserveUnknownFields) {
    check.at('strategy').invalid('must be None if spec.preserveUnknownFields is true', strategy)
  }
  if (strategy === '') check.at('strategy').required()
  else if (!strategies.includes(strategy)) check.at('strategy').notSupported(strategies, strategy)
  if (strategy === 'Webhook') {
    const place = check.at('webhookClientConfig')
    if (client === undefined) place.required('required when strategy is set to Webhook')
    else if ((client.url == null) === (client.service == null)) place.required('exactly one of url or service is required')
    else if (client.url != null) validateWebhookUrl(place.at('url').present)
    else if (client.service != null) validateWebhookService(place.at('service').present)
    const bundleError = client?.caBundle && strictness.soundCaBundle ? caBundleError(client.caBundle) : undefined
    if (bundleError !== undefined) place.at('caBundle').invalid(bundleError, client?.caBundle)
    validateReviewVersions(check.at('conversionReviewVersions').present, strictness.knownReviewVersion)
    return
  }
  const message = 'should not be set when strategy is not set to Webhook'
  if (client !== undefined) check.at('webhookClientConfig').forbidden(message)
  if (versions.length > 0) check.at('conversionReviewVersions').forbidden(message)
}
