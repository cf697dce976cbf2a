import { admissionStructs } from '#api/cel/admission.ts'
import { Environment } from '#api/cel/environment.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { authorizerType } from '#api/cel/library/authorizer.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { type CelType, dyn, struct } from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'

/** The types that admission itself leaves open. */
export type AdmissionTypes = {
  readonly object: CelType
  /** Undefined where there are no params. */
  readonly params: CelType | undefined
  readonly structNamed: (name: string) => StructType | undefined
}

export type TypeCheck = (expression: string) => string | undefined

/** Answers a function that tells in cel-go's words what is wrong with an expression about objects of these types. A step for each variable. */
export function* admissionTypeCheck(
  { object, params, structNamed }: AdmissionTypes,
  variables: readonly { readonly name: string; readonly expression: string }[],
): Steps<TypeCheck> {
  const base = new Environment({
    libraries: kubernetesLibraries,
    variables: {
      ...{ object, oldObject: object, authorizer: authorizerType },
      namespaceObject: struct('kubernetes.Namespace'),
      request: struct('kubernetes.AdmissionRequest'),
      ...defined({ params }),
    },
    structs: admissionStructs,
    structNamed,
  })
  const types = new Map<string, CelType>()
  const variablesType: StructType = { name: 'kubernetes.variables', field: (name) => types.get(name) }
  const environment = base.extended({ variables: { variables: struct('kubernetes.variables') }, structs: [variablesType] })
  // One that is wrong itself is told where it stands, not wherever it is used.
  for (const { name, expression } of variables) {
    types.set(name, typeOf(environment, expression))
    yield
  }
  return (expression) => {
    try {
      environment.compile(expression)
      return undefined
    } catch (error) {
      if (error instanceof CelCompileError) return error.message
      throw error
    }
  }
}

function typeOf(environment: Environment, expression: string): CelType {
  try {
    return environment.compile(expression).type
  } catch (error) {
    if (error instanceof CelCompileError) return dyn
    throw error
  }
}
