/** Validates the environment a container is given. */
import { envFieldPaths, validateFieldRef, validateResourceFieldRef } from '#api/core/v1/pod-spec/downward-api.ts'
import { validateNoBacksteps } from '#api/core/v1/pod-spec/paths.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type {
  V1ConfigMapKeySelector,
  V1EnvFromSource,
  V1EnvVar,
  V1EnvVarSource,
  V1FileKeySelector,
  V1SecretKeySelector,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { configMapKey, relaxedEnvVarName } from '#api/meta/formats.ts'
import { dns1123Label, dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'

/** `check` stands at the list. */
export function validateEnv(check: Check<readonly V1EnvVar[]>, options: PodValidationOptions): void {
  const variables = check.value
  for (let index = 0; index < variables.length; index++) {
    const variable = variables[index] as V1EnvVar
    if (!variable.name) check.at(index).at('name').required()
    else {
      const messages = relaxedEnvVarName(variable.name)
      for (const message of messages) check.at(index).at('name').invalid(message)
    }
    if (variable.valueFrom) validateSource(check.at(index).at('valueFrom').present, Boolean(variable.value), options)
  }
}

function validateSource(check: Check<V1EnvVarSource>, hasValue: boolean, options: PodValidationOptions): void {
  const source = check.value
  let sources = 0
  if (source.fieldRef) {
    sources++
    validateFieldRef(check.at('fieldRef').present, envFieldPaths)
  }
  if (source.resourceFieldRef) {
    sources++
    validateResourceFieldRef(check.at('resourceFieldRef').present, false)
  }
  if (source.configMapKeyRef) {
    sources++
    validateKeyRef(check.at('configMapKeyRef').present)
  }
  if (source.secretKeyRef) {
    sources++
    validateKeyRef(check.at('secretKeyRef').present)
  }
  if (source.fileKeyRef) {
    sources++
    validateFileKeyRef(check.at('fileKeyRef').present)
  }
  if (sources === 0) {
    const choices = options.allowEnvFiles
      ? '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
      : '`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'
    check.invalid(`must specify one of: ${choices}`, '')
  } else if (hasValue) check.invalid('may not be specified when `value` is not empty', '')
  else if (sources > 1) check.invalid('may not have more than one field specified at a time', '')
}

function validateKeyRef(check: Check<V1ConfigMapKeySelector | V1SecretKeySelector>): void {
  const ref = check.value
  mustBe(dns1123Subdomain, check.at('name').or(''))
  if (!ref.key) check.at('key').required()
  else mustBe(configMapKey, check.at('key'))
}

function validateFileKeyRef(check: Check<V1FileKeySelector>): void {
  const ref = check.value
  if (!ref.key) check.at('key').required()
  else mustBe(relaxedEnvVarName, check.at('key'))
  if (!ref.volumeName) check.at('volumeName').required()
  else mustBe(dns1123Label, check.at('volumeName'))
  if (!ref.path) check.at('path').required()
  else validateNoBacksteps(check.at('path'))
}

/** `check` stands at the list, which is also where upstream reports a wrong number of sources. */
export function validateEnvFrom(check: Check<readonly V1EnvFromSource[]>): void {
  const sources = check.value
  for (let index = 0; index < sources.length; index++) {
    const source = sources[index] as V1EnvFromSource
    const at = check.at(index)
    if (source.prefix) mustBe(relaxedEnvVarName, at.at('prefix').present)
    if (source.configMapRef) validateReferenceName(at.at('configMapRef').at('name'))
    if (source.secretRef) validateReferenceName(at.at('secretRef').at('name'))
    if (!source.configMapRef && !source.secretRef) check.invalid('must specify one of: `configMapRef` or `secretRef`', '')
    else if (source.configMapRef && source.secretRef) check.invalid('may not have more than one field specified at a time', '')
  }
}

function validateReferenceName(check: Check<string | undefined>): void {
  const name = check.value
  if (!name) check.required()
  else for (const message of nameIsDns1123Subdomain(name, true)) check.invalid(message)
}
