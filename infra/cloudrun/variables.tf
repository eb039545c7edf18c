variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "image" {
  description = "The image with its digest, such as REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST."
  type        = string
}

variable "region" {
  description = "The region of Cloud Run."
  type        = string
  default     = "europe-west1"
}

variable "name" {
  description = "The name of the service and of its account."
  type        = string
  default     = "ranklet"
}

variable "api_key_secret" {
  description = "The secret in Secret Manager that holds the API key."
  type        = string
  default     = "ranklet-api-key"
}

variable "public" {
  description = "Let anybody call; requests still need the API key."
  type        = bool
  default     = false
}

variable "max_instances" {
  description = "The most instances, which bounds the bill."
  type        = number
  default     = 10
}

variable "cpu" {
  description = "Processors per instance."
  type        = string
  default     = "2"
}

variable "memory" {
  description = "Memory per instance; the bundle is mapped, so only the parts in use count."
  type        = string
  default     = "2Gi"
}

variable "concurrency" {
  description = "Simultaneous requests per instance: twice the processors, if they do the work."
  type        = number
  default     = 4
}

variable "accelerator" {
  description = "The type of GPU, such as nvidia-l4; empty for none."
  type        = string
  default     = ""
}
