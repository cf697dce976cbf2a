/** Judges the environment a container is given. */
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
export function validateEnv(variables: readonly V1EnvVar[], check: Check, options: PodValidationOptions): void {
  for (let index = 0; index < variables.length; index++) {
    const variable = variables[index] as V1EnvVar
    if (!variable.name) check.at(index).at('name').required()
    else {
      const messages = relaxedEnvVarName(variable.name)
      for (const message of messages) check.at(index).at('name').invalid(variable.name, message)
    }
    if (variable.valueFrom) validateSource(variable.valueFrom, Boolean(variable.value), check.at(index).at('valueFrom'), options)
  }
}

function validateSource(source: V1EnvVarSource, hasValue: boolean, check: Check, options: PodValidationOptions): void {
  let sources = 0
  if (source.fieldRef) {
    sources++
    validateFieldRef(source.fieldRef, envFieldPaths, check.at('fieldRef'))
  }
  if (source.resourceFieldRef) {
    sources++
    validateResourceFieldRef(source.resourceFieldRef, false, check.at('resourceFieldRef'))
  }
  if (source.configMapKeyRef) {
    sources++
    validateKeyRef(source.configMapKeyRef, check.at('configMapKeyRef'))
  }
  if (source.secretKeyRef) {
    sources++
    validateKeyRef(source.secretKeyRef, check.at('secretKeyRef'))
  }
  if (source.fileKeyRef) {
    sources++
    validateFileKeyRef(source.fileKeyRef, check.at('fileKeyRef'))
  }
  if (sources === 0) {
    const choices = options.allowEnvFiles
      ? '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
      : '`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'
    check.invalid('', `must specify one of: ${choices}`)
  } else if (hasValue) check.invalid('', 'may not be specified when `value` is not empty')
  else if (sources > 1) check.invalid('', 'may not have more than one field specified at a time')
}

function validateKeyRef(ref: V1ConfigMapKeySelector | V1SecretKeySelector, check: Check): void {
  mustBe(dns1123Subdomain, ref.name ?? '', check.at('name'))
  if (!ref.key) check.at('key').required()
  else mustBe(configMapKey, ref.key, check.at('key'))
}

function validateFileKeyRef(ref: V1FileKeySelector, check: Check): void {
  if (!ref.key) check.at('key').required()
  else mustBe(relaxedEnvVarName, ref.key, check.at('key'))
  if (!ref.volumeName) check.at('volumeName').required()
  else mustBe(dns1123Label, ref.volumeName, check.at('volumeName'))
  if (!ref.path) check.at('path').required()
  else validateNoBacksteps(ref.path, check.at('path'))
}

/** `check` stands at the list, which is also where upstream reports a wrong number of sources. */
export function validateEnvFrom(sources: readonly V1EnvFromSource[], check: Check): void {
  for (let index = 0; index < sources.length; index++) {
    const source = sources[index] as V1EnvFromSource
    const at = check.at(index)
    if (source.prefix) mustBe(relaxedEnvVarName, source.prefix, at.at('prefix'))
    if (source.configMapRef) validateReferenceName(source.configMapRef.name, at.at('configMapRef').at('name'))
    if (source.secretRef) validateReferenceName(source.secretRef.name, at.at('secretRef').at('name'))
    if (!source.configMapRef && !source.secretRef) check.invalid('', 'must specify one of: `configMapRef` or `secretRef`')
    else if (source.configMapRef && source.secretRef) check.invalid('', 'may not have more than one field specified at a time')
  }
}

function validateReferenceName(name: string | undefined, check: Check): void {
  if (!name) check.required()
  else for (const message of nameIsDns1123Subdomain(name, true)) check.invalid(name, message)
}
